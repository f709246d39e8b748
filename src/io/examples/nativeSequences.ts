/** @file Sequence examples parsed by the native library: small batches at once, large ones beside the event loop. */
import { float32, int64 } from '../../core/dtypes.ts';
import type { Work } from '../../core/eventLoop.ts';
import { nativeFamily } from '../native.ts';
import { callWithStrings, joinedKeys, type NativeBlocks, nativeCall, withBlocks } from '../nativeStrings.ts';
import { sinkOf } from './nativeParse.ts';
import { type ContextValues, featuresOf, type RowValues, type SequenceValues } from './readSequences.ts';
import type { ExampleSpec, SparseFeature } from './spec.ts';

const native = nativeFamily((functions) => ({
  parse: nativeCall(
    functions,
    'int64_t tl_sequences_parse(int64_t slots, int64_t contextCount, int64_t listCount, int64_t keys, int64_t data, int64_t offsets, int64_t examples)',
  ),
}));

const worth = { least: 2 ** 11, quick: 2 ** 18 };

const sum = (counts: Int32Array) => counts.reduce((total, n) => total + Math.max(0, n), 0);

/** The values of features; undefined where this is not the way to find out, and for examples that are odd. */
export async function sequencesBeside(
  context: ExampleSpec,
  lists: ExampleSpec,
  serialized: readonly Uint8Array[],
): Promise<SequenceValues | undefined> {
  const library = native();
  if (!library) return undefined;
  const [inContext, inLists] = [featuresOf(context), featuresOf(lists)];
  const features = [...inContext, ...inLists];
  const keys = joinedKeys(features.map(({ key }) => key));
  const slots = Float64Array.from(
    features.flatMap(({ dtype }, s) => [dtype === float32 ? 1 : dtype === int64 ? 2 : 0, ...keys.places[s]!]),
  );
  const found = await callWithStrings(
    library.parse,
    worth,
    serialized,
    slots,
    inContext.length,
    inLists.length,
    keys.bytes,
  );
  return await withBlocks(found, (blocks) => valuesIn(blocks, inContext, inLists, serialized));
}

function* valuesIn(
  blocks: NativeBlocks,
  inContext: readonly SparseFeature[],
  inLists: readonly SparseFeature[],
  serialized: readonly Uint8Array[],
): Work<SequenceValues> {
  const values: ContextValues[] = [];
  for (const [s, { dtype }] of inContext.entries()) {
    const counts = blocks.int32s(3 * s + 1);
    const total = sum(counts);
    const sink = yield* sinkOf(blocks, 3 * s + 2, dtype, total, serialized, (e) => Math.max(0, counts[e]!));
    values.push({ sink, counts, total });
  }
  const allRows: RowValues[] = [];
  for (const [i, { dtype }] of inLists.entries()) {
    const s = inContext.length + i;
    const [rows, counts] = [blocks.int32s(3 * s), blocks.int32s(3 * s + 1)];
    const total = sum(counts);
    let row = 0;
    const sink = yield* sinkOf(blocks, 3 * s + 2, dtype, total, serialized, (e) => {
      let values = 0;
      for (const end = row + Math.max(0, rows[e]!); row < end; row++) values += counts[row]!;
      return values;
    });
    allRows.push({ sink, rows, counts, total });
  }
  return { context: values, lists: allRows };
}
