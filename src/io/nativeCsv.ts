/** @file Records of comma-separated values parsed by the native library: few at once, many beside the event loop. */
import { type DType, float32, float64, int32, int64, string } from '../core/dtypes.ts';
import { NDArray } from '../core/ndarray.ts';
import type { Shape } from '../core/shape.ts';
import type { CsvOptions } from './csv.ts';
import { keep, nativeFamily } from './native.ts';
import { callWithStrings, joinedKeys, nativeCall, separated, withBlocks } from './nativeStrings.ts';

const native = nativeFamily((functions) => ({
  parse: nativeCall(
    functions,
    'int64_t tl_csv_parse(int64_t columns, int64_t count, int64_t options, int64_t texts, int64_t data, int64_t offsets, int64_t records)',
  ),
  address: functions.address,
}));

const worth = { least: 2 ** 10, quick: 2 ** 16 };
const types: readonly DType[] = [string, float32, float64, int32, int64];

/**
 * The columns of records, one for each default, in arrays of the given shape; undefined where this is not the way to find out, for
 * records with mistakes, and for odd numbers.
 */
export async function csvBeside(
  records: readonly Uint8Array[],
  options: CsvOptions,
  notAvailable: Uint8Array,
  defaults: readonly NDArray[],
  shape: Shape,
): Promise<readonly NDArray[] | undefined> {
  const library = native();
  if (!library) return undefined;
  const fallbacks = defaults.map(
    (array) => (array.dtype === string ? (array.objects[0] as Uint8Array | undefined) : array.bytes), // strings are bytes
  );
  const texts = joinedKeys([notAvailable, ...fallbacks.map((bytes) => bytes ?? new Uint8Array(0))]);
  const targets = defaults.map(({ dtype }) => (dtype === string ? undefined : dtype.allocate(records.length)));
  const columns = Float64Array.from(
    defaults.flatMap(({ dtype, size }, i) => [
      types.indexOf(dtype),
      targets[i] ? library.address(targets[i]) : 0,
      ...(size === 0 ? [-1, -1] : texts.places[i + 1]!),
    ]),
  );
  const { delimiter, useQuotes, columns: chosen } = options;
  const table = Float64Array.of(delimiter, Number(useQuotes), ...texts.places[0]!, chosen.length, ...chosen);
  const found = await callWithStrings(library.parse, worth, records, columns, defaults.length, table, texts.bytes);
  keep(targets);
  return await withBlocks(found, function* (blocks) {
    const arrays: NDArray[] = [];
    for (const [i, { dtype }] of defaults.entries())
      arrays.push(
        new NDArray(dtype, shape, targets[i] ?? (yield* separated(blocks.bytes(2 * i), blocks.int32s(2 * i + 1)))),
      );
    return arrays;
  });
}
