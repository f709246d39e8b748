/** @file meshgrid and eye: coordinate grids and identity matrices. */
import { type DType, float32, int32 } from '../../core/dtypes.ts';
import { onlyOptions, splitOptions } from '../../graph/options.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { convertToTensor } from '../../op/convert.ts';
import { type Named, scoped } from './common.ts';
import { concat } from './concat.ts';
import { ones, zeros } from './fill.ts';
import { matrixDiag } from './matrixDiag.ts';
import { matrixSetDiag } from './matrixSetDiag.ts';
import { minimum, mul } from './neighbours.ts';
import { reshape } from './reshape.ts';
import { size } from './shape.ts';
import { stack } from './stack.ts';

interface MeshgridOptions extends Named {
  readonly indexing?: 'xy' | 'ij' | undefined;
}

/** One vector is a list of numbers, so a list of other things holds the vectors. */
function isListOfVectors(value: TensorLike | undefined): value is readonly TensorLike[] {
  return Array.isArray(value) && value.every((x) => typeof x === 'object');
}

/**
 * Vectors as coordinates of a grid: one tensor per vector, each of the grid's shape. `'xy'` swaps the first two axes, as
 * plots want it. Adds nodes under `meshgrid`.
 *
 * @example tf.meshgrid([1, 2], [3, 4])[0] // runs to [[1 2] [1 2]]
 * @example tf.meshgrid([[1, 2], [3, 4]], { indexing: 'ij' })[0] // runs to [[1 1] [2 2]]
 */
export function meshgrid(...given: readonly (TensorLike | MeshgridOptions)[]): Tensor[] {
  const [vectors, options] = splitOptions<TensorLike, MeshgridOptions>(given, {});
  const [first] = vectors;
  const args = vectors.length === 1 && isListOfVectors(first) ? first : vectors;
  const { indexing = 'xy', name } = onlyOptions('tf.meshgrid', options, 'indexing', 'name');
  return scoped(name ?? 'meshgrid', args, () => {
    const axes = args.length;
    if (axes === 0) return [];
    const line = (at: number) => Array.from({ length: axes }, (_, i) => (i === at ? -1 : 1));
    const output = args.map((x, i) => reshape(stack(x), line(i)));
    const shapes = args.map((x) => size(x));
    const { dtype } = convertToTensor(args[0]!);
    if (indexing === 'xy' && axes > 1) {
      output[0] = reshape(output[0]!, line(1));
      output[1] = reshape(output[1]!, line(0));
      [shapes[0], shapes[1]] = [shapes[1]!, shapes[0]!];
    }
    const whole = ones(shapes, { dtype });
    return output.map((x) => mul(x, whole));
  });
}

export interface EyeOptions extends Named {
  readonly numColumns?: number | Tensor | undefined;
  /** Leading axes: the same matrix for each entry. */
  readonly batchShape?: readonly number[] | Tensor | undefined;
  readonly dtype?: DType | undefined;
}

/**
 * An identity matrix, or a batch of them. Adds nodes under `eye`.
 *
 * @example tf.eye(2) // runs to [[1. 0.] [0. 1.]]
 */
export function eye(numRows: number | Tensor, options: EyeOptions = {}): Tensor {
  onlyOptions('tf.eye', options, 'name', 'numColumns', 'batchShape', 'dtype');
  const { numColumns = numRows, batchShape = [], dtype = float32, name } = options;
  return scoped(name ?? 'eye', [numRows, numColumns, batchShape], () => {
    const fixed = typeof numRows === 'number' && typeof numColumns === 'number';
    const isSquare = fixed ? numRows === numColumns : options.numColumns === undefined;
    const diagonal = fixed ? Math.min(numRows, numColumns) : minimum(numRows, numColumns);
    let diagonalShape: TensorLike;
    let matrixShape: TensorLike = [];
    if (batchShape instanceof Tensor || diagonal instanceof Tensor) {
      const batch = convertToTensor(batchShape, { name: 'shape', dtype: int32 });
      diagonalShape = concat([batch, [diagonal]], 0);
      if (!isSquare) matrixShape = concat([batch, [numRows, numColumns]], 0);
    } else {
      diagonalShape = [...batchShape, diagonal];
      matrixShape = [...batchShape, numRows, numColumns];
    }
    const onesOn = ones(diagonalShape, { dtype });
    if (isSquare) return matrixDiag(onesOn);
    return matrixSetDiag(zeros(matrixShape, { dtype }), onesOn);
  });
}
