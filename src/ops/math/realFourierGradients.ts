/** @file The gradients of RFFT, RFFT2D, IRFFT and IRFFT2D, node for node as TensorFlow's Python builds them. */
import { complex64, complex128, type DType, float32, int32 } from '../../core/dtypes.ts';
import { fromElements } from '../../core/ndarray.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { knownValue } from '../../op/constantValue.ts';
import { concat } from '../array/concat.ts';
import { expandDims } from '../array/expandDims.ts';
import { ones } from '../array/fill.ts';
import { getItem } from '../array/getItem.ts';
import { range } from '../array/range.ts';
import { reshape } from '../array/reshape.ts';
import { rank as rankOf, shape } from '../array/shape.ts';
import { tile } from '../array/tile.ts';
import { transpose } from '../array/transpose.ts';
import { cast } from './cast.ts';
import { conj, real } from './complex.ts';
import { exp } from './exp.ts';
import { transformSize } from './fft.ts';
import { matmul } from './matmul.ts';
import { minus, modulo, over, plus, times } from './operators.ts';
import { irfft, irfft2d, rfft, rfft2d } from './signal.ts';
import { reciprocal } from './sqrt.ts';

/** `1, -1, 1, -1 …` */
function signs(length: Tensor, dtype: DType): Tensor {
  return cast(minus(1, times(2, modulo(range(length), 2))), dtype);
}

/** The matrix of the Fourier transform of that length. */
function transformMatrix(length: Tensor, dtype: DType): Tensor {
  const a = tile(expandDims(range(length), 0), [length, 1]);
  const b = transpose(a, [1, 0]);
  const turn = fromElements(dtype, [], [{ re: 0, im: -2 * Math.PI }]);
  const angles = times(turn, cast(times(a, b), dtype));
  return exp(over(angles, cast(length, dtype)));
}

/** The matrix, once for every matrix of `t`. */
function tiledLike(matrix: Tensor, t: Tensor): Tensor {
  const outer = ones([minus(rankOf(t), 2)], { dtype: int32 });
  const expanded = reshape(matrix, concat([outer, shape(matrix)], 0));
  return tile(expanded, concat([getItem(shape(t), ':-2'), [1, 1]], 0));
}

/**
 * The inverse transform of the gradient counts the mirrored half of the spectrum, which was not there; what belongs to
 * the first and, for even lengths, the last column of the other half is added back.
 */
export function rfftGradient(rank: 1 | 2, input: Tensor, fftLength: Tensor, dy: Tensor): Tensor {
  const { dtype } = dy;
  const inputShape = shape(input);
  const isEven = cast(minus(1, modulo(getItem(fftLength, [-1]), 2)), dtype);
  const first = getItem(dy, ['...', [0, 1]]);
  let extra: Tensor;
  if (rank === 1) {
    const last = times(isEven, getItem(dy, ['...', [-1]]));
    extra = plus(first, times(last, signs(getItem(inputShape, [-1]), dtype)));
  } else {
    const base = transformMatrix(getItem(inputShape, [-2]), dtype);
    const matrix = tiledLike(base, first);
    const ofFirst = matmul(matrix, conj(first));
    const last = getItem(dy, ['...', [-1]]);
    const ofLast = matmul(matrix, conj(last));
    const width = getItem(inputShape, [-1]);
    const copies = concat([ones([minus(rankOf(dy), 1)], { dtype: int32 }), [width]], 0);
    const wide = times(tile(ofLast, copies), signs(width, dtype));
    extra = plus(ofFirst, times(isEven, wide));
  }
  const size = cast(transformSize(input, rank), dtype.realDtype);
  const inverse = (rank === 1 ? irfft : irfft2d)(dy, { fftLength });
  return times(0.5, plus(times(inverse, size), real(extra)));
}

/** Numbers of the spectrum that stand for two, themselves and their mirror image, count double. */
export function irfftGradient(rank: 1 | 2, input: Tensor, fftLength: Tensor, dy: Tensor): Tensor {
  const known = knownValue(fftLength);
  const fftLengthGiven: TensorLike = known ?? fftLength;
  const { dtype } = dy;
  const last: TensorLike = known ? fromElements(int32, [], [known.numberAt(rank - 1)]) : getItem(fftLength, [-1]);
  const isOdd = modulo(last, 2);
  const columns = getItem(shape(input), [-1]);
  const inner = times(2, ones([plus(minus(columns, 2), isOdd)], { dtype }));
  const mask = concat([[1], inner, ones([minus(1, isOdd)], { dtype })], 0);
  const scale = reciprocal(cast(transformSize(dy, rank), dtype));
  const spectrum = (rank === 1 ? rfft : rfft2d)(dy, { fftLength: fftLengthGiven });
  return times(spectrum, cast(times(scale, mask), dtype === float32 ? complex64 : complex128));
}
