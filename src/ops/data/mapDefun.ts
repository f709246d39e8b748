/** @file MapDefun: a function of the graph applied to the rows of its arguments, several rows at a time. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { type NDArray, zeros } from '../../core/ndarray.ts';
import { compatible, type Dims, isFullyDefined, showRuntime } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { rowsTogether } from './batch.ts';
import type { Element } from './dataset.ts';
import { elementAttrs, types } from './kit.ts';
import { rowsAt } from './sources.ts';

/** How many rows there are, where one argument tells. */
function rowCount(args: readonly Dims[]): number | null {
  let count: number | null = null;
  for (const [i, dims] of args.entries()) {
    if (dims?.length === 0)
      throw new InvalidArgumentError(`Arguments must have rank at least 1. Input ${i} has rank of 0.`);
    const rows = dims?.[0] ?? null;
    if (rows !== null && count !== null && rows !== count)
      throw new InvalidArgumentError(`Arguments must have the same dimension 0, but there are ${count} and ${rows}.`);
    count ??= rows;
  }
  return count;
}

/** The results of all rows, one below the other. */
function joined(results: readonly Element[], i: number, dtype: NDArray['dtype'], promised: Dims): NDArray {
  // Without a row, nothing tells what was left open.
  if (results.length === 0) return zeros(dtype, [0, ...(promised ?? []).map((n) => n ?? 0)]);
  let expected = promised;
  for (const result of results) {
    const value = result[i]!;
    if (value.dtype !== dtype)
      throw new InvalidArgumentError(`Mismatch in function return type and expected output type for output: ${i}`);
    if (!compatible(expected, value.shape))
      throw new InvalidArgumentError(
        `Mismatch in function retval shape, ${showRuntime(value.shape)}, and expected output shape, ${showRuntime(expected)}.`,
      );
    expected = value.shape;
  }
  const rows = results.map((result) => result[i]!);
  return rowsTogether(dtype, [rows.length, ...rows[0]!.shape], rows);
}

/** Calls for all rows, so many at a time; the first failure ends it. */
async function forEachRow(
  count: number,
  room: number,
  call: (row: number) => Promise<Element>,
): Promise<readonly Element[]> {
  const results: Element[] = new Array(count);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const row = next++;
      try {
        results[row] = await call(row);
      } catch (error) {
        next = count;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(room, count) }, worker));
  return results;
}

/** So many calls at a time where no limit is given. */
const freeRoom = 16;

export const MapDefun = defineOp({
  name: 'MapDefun',
  inputs: { arguments: 'Targuments', captured_inputs: 'Tcaptured' },
  outputs: { output: 'output_types' },
  attrs: {
    Targuments: types,
    Tcaptured: attr('list(type)', { minimum: 0, default: [] }),
    ...elementAttrs,
    f: attr('func'),
    max_intra_op_parallelism: attr('int', { default: 1 }),
  },
  shape({ arguments: args }, { output_types, output_shapes }) {
    if (output_types.length !== output_shapes.length)
      throw new InvalidArgumentError(
        `\`output_shapes\` must be the same length as \`output_types\` (${output_shapes.length} vs. ${output_types.length})`,
      );
    const count = rowCount(args);
    return { output: output_shapes.map((dims) => dims && [count, ...dims]) };
  },
  grad: gradientPending('TensorFlow has none'),
  lower(p, { arguments: args, captured_inputs }, { output_types, output_shapes, f, max_intra_op_parallelism }) {
    const [count] = args[0]!.shape;
    for (const [i, { shape }] of args.entries()) {
      if (shape.length === 0)
        throw new InvalidArgumentError(`All inputs must have rank at least 1. Input ${i} has a rank of 0.`);
      if (shape[0] !== count)
        throw new InvalidArgumentError(
          `All inputs must have the same dimension 0. Input ${i} has leading dimension ${shape[0]}, while all previous inputs have leading dimension ${count}`,
        );
    }
    const call = p.hostFunction(f);
    const room = max_intra_op_parallelism >= 1 ? max_intra_op_parallelism : freeRoom;
    const results = output_types.map((dtype, i) => {
      const dims = output_shapes[i]!;
      return isFullyDefined(dims) ? { dtype, shape: [count!, ...dims] } : { dtype };
    });
    const output = p.host([...args, ...captured_inputs], results, async (arrays, run) => {
      const rows = rowsAt(arrays.slice(0, args.length));
      const captured = arrays.slice(args.length);
      // Functions may change what they are given, so rows are copied.
      const own = (row: number) => rows(row).map((array) => array.copy());
      const all = await forEachRow(count!, room, (row) => call([...own(row), ...captured], run));
      return output_types.map((dtype, i) => joined(all, i, dtype, output_shapes[i]!));
    });
    return { output };
  },
  cases: () => [],
});
