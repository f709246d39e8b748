/** @file DecodeCompressed: strings of compressed bytes, each as what it was made of. */
import { promisify } from 'node:util';
import { constants, deflateSync, gunzip, gzipSync, inflate } from 'node:zlib';
import { string } from '../../core/dtypes.ts';
import { DataLossError, InvalidArgumentError, ResourceExhaustedError, UnimplementedError } from '../../core/errors.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { bytesOf, stringArray } from '../string/text.ts';

const methods = { ZLIB: promisify(inflate), GZIP: promisify(gunzip) } as const;

/** What can be had of bytes that may end too soon, as in TensorFlow. */
async function decompress(bytes: Uint8Array, method: keyof typeof methods): Promise<Uint8Array> {
  if (bytes.length === 0) return bytes;
  const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 2 ** 31 - 1 };
  try {
    const plain = await methods[method](bytes, options);
    return new Uint8Array(plain.buffer, plain.byteOffset, plain.byteLength);
  } catch (error) {
    const { errno, code, message } = error as NodeJS.ErrnoException; // what zlib rejects with
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new ResourceExhaustedError('the decompressed bytes are more than 2 GiB', { cause: error });
    throw new DataLossError(`inflate() failed with error ${errno}: ${message}`, { cause: error });
  }
}

export const DecodeCompressed = defineOp({
  name: 'DecodeCompressed',
  inputs: { bytes: 'string' },
  outputs: { output: 'string' },
  attrs: { compression_type: attr('string', { default: '' }) },
  shape: ({ bytes }) => ({ output: bytes }),
  grad: gradientPending('TensorFlow has none'),
  lower(p, { bytes }, { compression_type }) {
    if (compression_type === '') return { output: bytes };
    if (compression_type === 'ZSTD')
      throw new UnimplementedError('ZSTD is not among the methods that Node.js 20 knows; use ZLIB or GZIP');
    if (compression_type !== 'ZLIB' && compression_type !== 'GZIP')
      throw new InvalidArgumentError('Only ZLIB, ZSTD, GZIP or NONE are supported compressions');
    const { shape } = bytes;
    const [output] = p.host([bytes], [{ dtype: string, shape }], async ([array]) => [
      stringArray(shape, await Promise.all(bytesOf(array!).map((x) => decompress(x, compression_type)))),
    ]);
    return { output: output! };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { bytes: ['raw', ''] }, expect: { output: ['raw', ''] } },
    { given: { bytes: [new Uint8Array(deflateSync('hello')), ''] }, attrs: { compression_type: 'ZLIB' }, expect: { output: ['hello', ''] } },
    { given: { bytes: new Uint8Array(Buffer.concat([gzipSync('hello'), gzipSync(' you')])) }, attrs: { compression_type: 'GZIP' }, expect: { output: 'hello you' } },
    { given: { bytes: new Uint8Array(deflateSync('hello').subarray(0, -4)) }, attrs: { compression_type: 'ZLIB' }, expect: { output: 'hello' } },
    { given: { bytes: 'xx' }, attrs: { compression_type: 'ZLIB' }, fails: /inflate\(\) failed with error -3: incorrect header check/ },
    { given: { bytes: 'xx' }, attrs: { compression_type: 'RAR' }, fails: /Only ZLIB, ZSTD, GZIP or NONE are supported compressions/ },
  ],
});

/**
 * Decompresses each string. `compressionType` is `'ZLIB'`, `'GZIP'` or `''`. Adds one `DecodeCompressed` node.
 *
 * @example tf.decodeCompressed('as it is') // runs to b'as it is'
 */
export function decodeCompressed(bytes: TensorLike, options: { compressionType?: string; name?: string } = {}): Tensor {
  const { compressionType, name } = onlyOptions('tf.decodeCompressed', options, 'compressionType', 'name');
  const attrs = compressionType === undefined ? {} : { compression_type: compressionType };
  return DecodeCompressed.build({ bytes }, { name, attrs }).output;
}
