/** @file DecodeRaw and DecodePaddedRaw: the bytes of strings as numbers. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { joinRaw } from '../../io/rawStrings.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { bytesOf } from '../string/text.ts';

const paddedTypes = [d.float16, d.float32, d.float64, d.int32, d.uint16, d.uint8, d.int16, d.int8, d.int64, d.bfloat16];
const rawTypes = [...paddedTypes.slice(0, -1), d.complex64, d.complex128, d.bool, d.bfloat16];

/** Strings as rows of numbers. */
async function rowsOf(
  strings: readonly Uint8Array[],
  width: number,
  dtype: d.DType,
  isLittleEndian: boolean,
): Promise<d.TypedArray> {
  // The parts of a complex number are turned around one by one.
  const entry = isLittleEndian ? 1 : dtype.size / dtype.entries;
  const { buffer } = await joinRaw(strings, width, entry);
  return dtype.over(buffer, 0, (strings.length * width) / dtype.size);
}

export const DecodeRaw = defineOp({
  name: 'DecodeRaw',
  inputs: { bytes: 'string' },
  outputs: { output: 'out_type' },
  attrs: { out_type: attr('type', { allowed: rawTypes }), little_endian: attr('bool', { default: true }) },
  shape: ({ bytes }) => ({ output: bytes === null ? null : [...bytes, null] }),
  grad: notDifferentiable,
  lower(p, { bytes }, { out_type, little_endian }) {
    const [output] = p.host([bytes], [{ dtype: out_type }], async ([array]) => {
      const strings = bytesOf(array!);
      const length = strings[0]?.length ?? 0;
      for (const [i, string] of strings.entries())
        if (string.length !== length)
          throw new InvalidArgumentError(
            `DecodeRaw requires input strings to all be the same size, but element ${i} has size ${length} != ${string.length}`,
          );
      if (length % out_type.size !== 0)
        throw new InvalidArgumentError(
          `Input to DecodeRaw has length ${length} that is not a multiple of ${out_type.size}, the size of ${out_type.runtimeName}`,
        );
      const data = await rowsOf(strings, length, out_type, little_endian);
      return [new NDArray(out_type, [...array!.shape, length / out_type.size], data)];
    });
    return { output: output! };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[2, ?] -> [2, ?, ?]', attrs: { out_type: d.uint8 } },
    { shape: '? -> ?', attrs: { out_type: d.uint8 } },
    { given: { bytes: ['A', 'a'] }, attrs: { out_type: d.uint8 }, expect: { output: { dtype: 'uint8', value: [[65], [97]] } } },
    { given: { bytes: 'AaBC' }, attrs: { out_type: d.int16 }, expect: { output: { dtype: 'int16', value: [24897, 17218] } } },
    { given: { bytes: 'AaBC' }, attrs: { out_type: d.uint16, little_endian: false }, expect: { output: { dtype: 'uint16', value: [16737, 16963] } } },
    { given: { bytes: [Uint8Array.of(0, 0, 192, 63, 0, 0, 0, 192)] }, attrs: { out_type: d.float32 }, expect: { output: [[1.5, -2]] } },
    { given: { bytes: Uint8Array.of(63, 192, 0, 0, 192, 0, 0, 0) }, attrs: { out_type: d.complex64, little_endian: false }, expect: { output: { dtype: 'complex64', value: [{ re: 1.5, im: -2 }] } } },
    { given: { bytes: Uint8Array.of(1, 0, 1) }, attrs: { out_type: d.bool }, expect: { output: [true, false, true] } },
    { given: { bytes: Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 255) }, attrs: { out_type: d.int64 }, expect: { output: { dtype: 'int64', value: [-1] } } },
    { given: { bytes: '' }, attrs: { out_type: d.float16 }, expect: { output: { dtype: 'float16', value: [], shape: [0] } } },
    { given: { bytes: { dtype: 'string', value: [], shape: [0] } }, attrs: { out_type: d.float32 }, expect: { output: { dtype: 'float32', value: [], shape: [0, 0] } } },
    { given: { bytes: ['short', 'longer'] }, attrs: { out_type: d.uint8 }, fails: /DecodeRaw requires input strings to all be the same size, but element 1 has size 5 != 6/ },
    { given: { bytes: '123' }, attrs: { out_type: d.int16 }, fails: /Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16/ },
  ],
});

export const DecodePaddedRaw = defineOp({
  name: 'DecodePaddedRaw',
  inputs: { input_bytes: 'string', fixed_length: 'int32' },
  outputs: { output: 'out_type' },
  attrs: { out_type: attr('type', { allowed: paddedTypes }), little_endian: attr('bool', { default: true }) },
  hostInputs: ['fixed_length'],
  shape({ input_bytes, fixed_length }, { out_type }, context) {
    if (fixed_length !== null && fixed_length.length !== 0)
      throw new InvalidArgumentError(`Shape must be rank 0 but is rank ${fixed_length.length}`);
    const length = context.value('fixed_length')?.numberAt(0);
    if (length !== undefined && length % out_type.size !== 0)
      throw new InvalidArgumentError(
        `Dimension size must be evenly divisible by ${out_type.size} but is ${length}: fixed_length must be a multiple of the size of ${out_type}`,
      );
    const width = length === undefined || length < 0 ? null : length / out_type.size;
    return { output: input_bytes === null ? null : [...input_bytes, width] };
  },
  grad: notDifferentiable,
  lower(p, { input_bytes, fixed_length }, { out_type, little_endian }) {
    if (fixed_length.shape.length !== 0)
      throw new InvalidArgumentError(`k must be scalar, got shape ${showRuntime(fixed_length.shape)}`);
    const [length] = p.demandInts(fixed_length);
    if (length! % out_type.size !== 0)
      throw new InvalidArgumentError(
        `fixed_length (${length}) must be a multiple of the size of out_type (${out_type.size})`,
      );
    if (length! <= 0) throw new InvalidArgumentError(`fixed_length (${length}) must be greater than zero.`);
    const shape = [...input_bytes.shape, length! / out_type.size];
    const [output] = p.host([input_bytes], [{ dtype: out_type, shape }], async ([array]) => [
      new NDArray(out_type, shape, await rowsOf(bytesOf(array!), length!, out_type, little_endian)),
    ]);
    return { output: output! };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[?, 2], [] -> [?, 2, 4]', attrs: { out_type: d.int16 }, given: { fixed_length: { dtype: 'int32', value: 8 } } },
    { shape: '[2], [] -> [2, ?]', attrs: { out_type: d.int16 } },
    { shape: '[2], []', attrs: { out_type: d.int16 }, given: { fixed_length: { dtype: 'int32', value: 7 } }, rejects: /evenly divisible by 2 but is 7/ },
    { given: { input_bytes: ['A', 'BCDEF'], fixed_length: { dtype: 'int32', value: 4 } }, attrs: { out_type: d.uint8 }, expect: { output: { dtype: 'uint8', value: [[65, 0, 0, 0], [66, 67, 68, 69]] } } },
    { given: { input_bytes: ['Aa', 'BCD'], fixed_length: { dtype: 'int32', value: 4 } }, attrs: { out_type: d.uint16 }, expect: { output: { dtype: 'uint16', value: [[24897, 0], [17218, 68]] } } },
    { given: { input_bytes: ['Aa', 'BCD'], fixed_length: { dtype: 'int32', value: 4 } }, attrs: { out_type: d.uint16, little_endian: false }, expect: { output: { dtype: 'uint16', value: [[16737, 0], [16963, 17408]] } } },
    { given: { input_bytes: 'A', fixed_length: { dtype: 'int32', value: 0 } }, attrs: { out_type: d.uint8 }, fails: /fixed_length \(0\) must be greater than zero/ },
    { given: { input_bytes: 'A', fixed_length: { dtype: 'int32', value: 3 } }, attrs: { out_type: d.int16 }, fails: /must be a multiple of the size of/ },
  ],
});

export interface DecodeRawOptions {
  /** False when the most significant byte of each number comes first. */
  readonly littleEndian?: boolean | undefined;
  /** Cuts or fills all strings to so many bytes; without it all must have one length. */
  readonly fixedLength?: TensorLike | undefined;
  readonly name?: string | undefined;
}

/**
 * The bytes of strings as numbers, along one more axis. Adds a `DecodeRaw` node, or with `fixedLength` a `DecodePaddedRaw`.
 *
 * @example tf.decodeRaw(['ab', 'cd'], tf.uint8) // runs to [[ 97  98] [ 99 100]]
 */
export function decodeRaw(inputBytes: TensorLike, outType: d.DType, options: DecodeRawOptions = {}): Tensor {
  const { littleEndian, fixedLength, name } = onlyOptions(
    'tf.decodeRaw',
    options,
    'littleEndian',
    'fixedLength',
    'name',
  );
  const attrs = { out_type: outType, ...(littleEndian !== undefined && { little_endian: littleEndian }) };
  if (fixedLength === undefined) return DecodeRaw.build({ bytes: inputBytes }, { name, attrs }).output;
  return DecodePaddedRaw.build({ input_bytes: inputBytes, fixed_length: fixedLength }, { name, attrs }).output;
}
