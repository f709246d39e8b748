/** @file Strings put into buckets by the native library. */
import { nativeFamily } from './native.ts';
import { callWithStrings, nativeCall } from './nativeStrings.ts';

const prototype = `int64_t tl_hash_buckets(int64_t kind, int64_t buckets, int64_t key0, int64_t key1, int64_t out, int64_t bytes,
                                           int64_t offsets, int64_t count)`;
const native = nativeFamily((functions) => nativeCall(functions, prototype));

const kinds = { farm: 0, murmur: 1, sip: 2 } as const;
export type HashKind = keyof typeof kinds;

/** A few strings are hashed sooner than they are handed over. */
const worth = { least: 2 ** 8, quick: 2 ** 19 };

/** The rest of each string's hash divided by `buckets`; undefined where the library is not there or not worth it. */
export async function hashBucketsBeside(
  strings: readonly Uint8Array[],
  kind: HashKind,
  buckets: number,
  [key0, key1]: readonly [bigint, bigint],
): Promise<BigInt64Array | undefined> {
  const call = native();
  if (!call) return undefined;
  const found = new BigInt64Array(strings.length);
  const done = await callWithStrings(call, worth, strings, kinds[kind], buckets, key0, key1, found);
  return done ? found : undefined;
}
