/** @file Functions of matrices that need branches or loops: expm, lstsq, and what is made of the factors of `lu`. */
import { complex64, float16, float32, int32 } from '../core/dtypes.ts';
import { isFullyDefined } from '../core/shape.ts';
import { onlyOptions } from '../graph/options.ts';
import { nameScope } from '../graph/scopes.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import {
  broadcastDynamicShape,
  broadcastTo,
  concat,
  constant,
  eye,
  fill,
  gather,
  gatherNd,
  invertPermutation,
  matrixBandPart,
  matrixSetDiag,
  ones,
  range,
  reshape,
  shape,
  size,
  stack,
} from '../ops/array/index.ts';
import {
  abs,
  cast,
  choleskySolve,
  floor,
  isFinite as isFiniteTensor,
  less,
  log,
  matmul,
  matrixSolve,
  matrixTriangularSolve,
  maximum,
  pow,
  reduceMax,
  reduceProd,
  reduceSum,
} from '../ops/math/index.ts';
import { gramianCholesky, MatrixSolveLs } from '../ops/math/leastSquares.ts';
import { whereV2 } from '../ops/math/select.ts';
import { cond } from './controlFlow/cond.ts';
import { mapFn } from './controlFlow/mapFn.ts';
import { whileLoop } from './controlFlow/whileLoop.ts';

interface NameOption {
  readonly name?: string | undefined;
}

/** Numerators of Padé's approximations of the exponential, lowest power first; the highest power has factor 1. */
const pade: Readonly<Record<number, readonly number[]>> = {
  3: [120, 60, 12],
  5: [30240, 15120, 3360, 420, 30],
  7: [17297280, 8648640, 1995840, 277200, 25200, 1512, 56],
  9: [17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90],
  13: [
    ...[64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600],
    ...[670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182],
  ],
};

/** A sum whose terms are made one by one, as Python makes them. */
const added = ([first, ...others]: readonly (() => Tensor)[]): Tensor =>
  others.reduce((total, term) => total.add(term()), first!());

/** The odd and even parts of an approximation. */
function approximation(matrix: Tensor, order: number): { odd: Tensor; even: Tensor } {
  const b = pade[order]!.map((x) => constant(x, { dtype: matrix.dtype }));
  const rows = shape(matrix).slice('-2');
  const identity = eye(rows, { batchShape: shape(matrix).slice(':-2'), dtype: matrix.dtype });
  const powers: Tensor[] = [identity, matmul(matrix, matrix)];
  const count = order === 13 ? 4 : (order + 1) / 2;
  while (powers.length < count) powers.push(matmul(powers.at(-1)!, powers[1]!));
  /** `b[first + power]` times a power of the matrix, for each of the powers. */
  const terms = (first: number, even: readonly number[]) =>
    even.map((power) => () => b[first + power]!.mul(powers[power / 2]!));
  if (order === 13) {
    const six = powers[3]!;
    const odd = added([
      () => matmul(six, added([() => six, () => b[11]!.mul(powers[2]!), () => b[9]!.mul(powers[1]!)])),
      ...terms(1, [6, 4, 2, 0]),
    ]);
    const product = matmul(matrix, odd);
    const high = added([() => b[12]!.mul(six), () => b[10]!.mul(powers[2]!), () => b[8]!.mul(powers[1]!)]);
    return { odd: product, even: added([() => matmul(six, high), ...terms(0, [6, 4, 2, 0])]) };
  }
  const top = order - 1;
  const below = Array.from({ length: top / 2 }, (_, k) => top - 2 - 2 * k);
  const odd = matmul(matrix, added([() => powers[top / 2]!, ...terms(1, below)]));
  return { odd, even: added(terms(0, [top, ...below])) };
}

/** For each precision: up to which norm each approximation is exact enough, and up to which norm the last one is. */
const limits = {
  single: { orders: [3, 5, 7], norms: [0.4258730016922831, 1.880152677804762], most: 3.92572478313866 },
  double: {
    orders: [3, 5, 7, 9, 13],
    norms: [0.01495585217958292, 0.253939833006323, 0.9504178996162932, 2.097847961257068],
    most: 5.371920351148152,
  },
};

/**
 * The exponential of square matrices: an approximation of the matrix halved often enough, squared as often. Adds nodes under
 * `matrix_exponential/`.
 *
 * @example tf.linalg.expm(tf.constant([[0.0, 1.0], [0.0, 0.5]])) // runs to [[1. 1.2974426] [0. 1.6487213]]
 */
export function expm(input: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.linalg.expm', options, 'name');
  return nameScope(options.name ?? 'matrix_exponential', () => {
    const given = convertToTensor(input, { name: 'input' });
    if (given.shape?.at(-1) === 0 && given.shape.at(-2) === 0) return given;
    if (!given.dtype.isFloating && !given.dtype.isComplex)
      throw userError(`tf.linalg.expm does not support matrices of type ${given.dtype}.`);
    const known = given.shape?.slice(0, -2) ?? null;
    const batch = known !== null && isFullyDefined(known) ? known : shape(given).slice(':-2');
    const matrix = reshape(given, concat([[-1], shape(given).slice('-2:')], 0));
    const columns = reduceSum(abs(matrix), size(shape(matrix)).sub(2));
    const norm = reduceMax(columns, -1).slice('..., newaxis, newaxis');
    const number = (x: number) => constant(x, { dtype: norm.dtype });
    const isSingle = [float16, float32, complex64].some((dtype) => dtype === matrix.dtype);
    const { orders, norms, most } = isSingle ? limits.single : limits.double;
    const squarings = maximum(floor(log(norm.div(number(most))).div(log(number(2)))), 0);
    const halved = () => matrix.div(cast(pow(number(2), squarings), matrix.dtype));
    const parts = orders.map((order) => approximation(order === orders.at(-1) ? halved() : matrix, order));
    const chosen = (part: 'odd' | 'even') => {
      const isSmall = norms.map((limit) => less(norm, number(limit)));
      return isSmall.reduceRight((others, small, i) => whereV2(small, parts[i]![part], others), parts.at(-1)![part]);
    };
    const [odd, even] = [chosen('odd'), chosen('even')];
    const finite = isFiniteTensor(reduceMax(norm));
    const nan = constant(Number.NaN, { dtype: matrix.dtype });
    const start = cond(
      finite,
      () => matrixSolve(odd.neg().add(even), odd.add(even)),
      () => fill(shape(matrix), nan),
    );
    const last = reduceMax(squarings);
    const goesOn = (i: Tensor) =>
      cond(
        finite,
        () => less(i, last),
        () => constant(false),
      );
    const squared = (i: Tensor, r: Tensor) => [i.add(1), whereV2(less(i, squarings), matmul(r, r), r)] as const;
    const [, result] = whileLoop(goesOn, squared, [number(0), start]);
    const dims = result.shape?.slice(-2) ?? null;
    if (Array.isArray(batch) && isFullyDefined(matrix.shape) && isFullyDefined(dims))
      return reshape(result, [...batch, ...dims]);
    return reshape(result, concat([batch, shape(result).slice('-2:')], 0));
  });
}

interface LeastSquaresOptions extends NameOption {
  /** The weight of the solution's own square; 0 unless given. */
  readonly l2Regularizer?: number | undefined;
  /** Normal equations, as unless given; else a slower way that also solves what is nearly singular. */
  readonly fast?: boolean | undefined;
}

/**
 * The solutions of `matrix x = rhs` in the sense of least squares. Adds nodes under `matrix_solve_ls/`, or one `MatrixSolveLs`
 * node with `fast: false`.
 *
 * @example tf.linalg.lstsq(tf.constant([[1], [1]], tf.float32), [[2], [5]]) // runs to [[3.5]]
 */
export function lstsq(matrix: TensorLike, rhs: TensorLike, options: LeastSquaresOptions = {}): Tensor {
  const {
    name,
    l2Regularizer = 0,
    fast = true,
  } = onlyOptions('tf.linalg.lstsq', options, 'name', 'l2Regularizer', 'fast');
  const a = convertToTensor(matrix, { name: 'matrix' });
  const b = convertToTensor(rhs, { name: 'rhs', hint: a.dtype });
  if (!fast) {
    return MatrixSolveLs.build({ matrix: a, rhs: b, l2_regularizer: l2Regularizer }, { name, attrs: { fast } }).output;
  }
  const over = () => choleskySolve(gramianCholesky(a, l2Regularizer, true), matmul(a, b, { adjointA: true }));
  const under = () => matmul(a, choleskySolve(gramianCholesky(a, l2Regularizer, false), b), { adjointA: true });
  return nameScope(name ?? 'matrix_solve_ls', () => {
    const [rows, columns] = a.shape?.slice(-2) ?? [null, null];
    if (rows != null && columns != null) return rows >= columns ? over() : under();
    const sizes = shape(a).slice('-2:');
    return cond(sizes.slice('-2').greaterEqual(sizes.slice('-1')), over, under);
  });
}

function checkFactors(lowerUpper: Tensor, perm: Tensor): void {
  const dims = lowerUpper.shape;
  if (dims === null) return;
  if (dims.length < 2) throw userError('lowerUpper must have at least 2 dimensions.');
  if (perm.rank !== null && dims.length !== perm.rank + 1)
    throw userError(`lowerUpper is ${lowerUpper}, so perm must have rank ${dims.length - 1}, but it is ${perm}.`);
  const [rows, columns] = dims.slice(-2);
  if (rows !== null && columns !== null && rows !== columns) throw userError('lowerUpper must be square.');
}

function factors(lowerUpper: TensorLike, perm: TensorLike): { lu: Tensor; order: Tensor } {
  const lu = convertToTensor(lowerUpper, { hint: float32, name: 'lower_upper' });
  const order = convertToTensor(perm, { hint: int32, name: 'perm' });
  checkFactors(lu, order);
  return { lu, order };
}

/** The lower factor, with the ones on its diagonal. */
const lowerOf = (lu: Tensor, whole: () => Tensor): Tensor =>
  matrixSetDiag(matrixBandPart(lu, -1, 0), ones(whole().slice(':-1'), { dtype: lu.dtype }));

/** The rows of the matrices in an order of their own for each. */
function rowsInOrder(rhs: Tensor, order: Tensor): Tensor {
  if (rhs.rank === 2 && order.rank === 1) return gather(rhs, order, { axis: -2 });
  const whole = shape(rhs);
  const batch = broadcastDynamicShape(whole.slice(':-2'), shape(order).slice(':-1'));
  const [rows, columns] = [whole.slice('-2'), whole.slice('-1')];
  const wide = concat([batch, [rows, columns]], 0);
  const matrices = reshape(broadcastTo(rhs, wide), [-1, rows, columns]);
  const places = reshape(broadcastTo(order, wide.slice(':-1')), [-1, rows]);
  const count = reduceProd(batch);
  const numbers = broadcastTo(range(count).slice(':, newaxis'), [count, rows]);
  return reshape(gatherNd(matrices, stack([numbers, places], -1)), wide);
}

/**
 * The solutions of `a x = rhs`, from what `tf.linalg.lu(a)` gives. Adds nodes under `lu_solve/`.
 *
 * @example tf.linalg.luSolve([[4.0, 4.0], [0.25, 1.0]], [1, 0], [[6.5], [8.0]]) // runs to [[-2.5] [ 4.5]]
 */
export function luSolve(lowerUpper: TensorLike, perm: TensorLike, rhs: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.linalg.luSolve', options, 'name');
  return nameScope(options.name ?? 'lu_solve', () => {
    const { lu, order } = factors(lowerUpper, perm);
    const right = convertToTensor(rhs, { hint: lu.dtype, name: 'rhs' });
    const ordered = rowsInOrder(right, order);
    const half = matrixTriangularSolve(
      lowerOf(lu, () => shape(lu)),
      ordered,
    );
    return matrixTriangularSolve(lu, half, { lower: false });
  });
}

/**
 * The inverse of `a`, from what `tf.linalg.lu(a)` gives. Adds nodes under `lu_matrix_inverse/`.
 *
 * @example tf.linalg.luMatrixInverse([[4.0, 4.0], [0.25, 1.0]], [1, 0]) // runs to [[-1.  0.5] [ 1.  -0.25]]
 */
export function luMatrixInverse(lowerUpper: TensorLike, perm: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.linalg.luMatrixInverse', options, 'name');
  return nameScope(options.name ?? 'lu_matrix_inverse', () => {
    const { lu, order } = factors(lowerUpper, perm);
    const whole = shape(lu);
    return luSolve(lu, order, eye(whole.slice('-1'), { batchShape: whole.slice(':-2'), dtype: lu.dtype }));
  });
}

/**
 * `a` again, from what `tf.linalg.lu(a)` gives. Adds nodes under `lu_reconstruct/`.
 *
 * @example tf.linalg.luReconstruct([[4.0, 4.0], [0.25, 1.5]], [1, 0]) // runs to [[1.  2.5] [4.  4. ]]
 */
export function luReconstruct(lowerUpper: TensorLike, perm: TensorLike, options: NameOption = {}): Tensor {
  onlyOptions('tf.linalg.luReconstruct', options, 'name');
  return nameScope(options.name ?? 'lu_reconstruct', () => {
    const { lu, order } = factors(lowerUpper, perm);
    const whole = shape(lu);
    const product = matmul(
      lowerOf(lu, () => whole),
      matrixBandPart(lu, 0, -1),
    );
    let result: Tensor;
    if (lu.rank === 2) result = gather(product, invertPermutation(order));
    else {
      const [count, rows] = [reduceProd(whole.slice(':-2')), whole.slice('-1')];
      const matrices = reshape(product, [count, rows, rows]);
      const back = mapFn((places: Tensor) => invertPermutation(places), reshape(order, [count, rows]));
      const numbers = broadcastTo(range(count).slice(':, newaxis'), [count, rows]);
      result = reshape(gatherNd(matrices, stack([numbers, back], -1)), whole);
    }
    result.setShape(lu.shape);
    return result;
  });
}
