/** @file ParseTensor and SerializeTensor: tensors as the bytes of a TensorProto. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { showRuntime } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { arrayFromProto, decodeTensorProto, serializeTensor as serialize } from '../../io/serializedTensor.ts';
import { anyType } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { bytesOf, stringArray } from '../string/text.ts';

export const ParseTensor = defineOp({
  name: 'ParseTensor',
  inputs: { serialized: 'string' },
  outputs: { output: 'out_type' },
  attrs: { out_type: anyType },
  shape: () => ({ output: null }),
  grad: notDifferentiable,
  lower(p, { serialized }, { out_type }) {
    if (serialized.shape.length !== 0)
      throw new InvalidArgumentError(
        `Expected \`serialized\` to be a scalar, got shape: ${showRuntime(serialized.shape)}`,
      );
    const [output] = p.host([serialized], [{ dtype: out_type }], ([array]) => {
      const bytes = bytesOf(array!)[0]!;
      const proto = decodeTensorProto(bytes);
      if (!proto)
        throw new InvalidArgumentError(
          `Could not parse \`serialized\` as TensorProto, base64: ${Buffer.from(bytes.subarray(0, 1024)).toString('base64')}`,
        );
      const value = arrayFromProto(proto);
      if (value.dtype !== out_type)
        throw new InvalidArgumentError(
          `Type mismatch between parsed tensor (${value.dtype.runtimeName}) and dtype (${out_type.runtimeName})`,
        );
      return [value];
    });
    return { output: output! };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[] -> ?', attrs: { out_type: d.float32 } },
    { given: { serialized: Uint8Array.of(8, 1, 18, 4, 18, 2, 8, 2, 34, 8, 0, 0, 192, 63, 0, 0, 0, 64) }, attrs: { out_type: d.float32 }, expect: { output: [1.5, 2] } },
    { given: { serialized: '\b\u0007\u0012\u0004\u0012\u0002\b\u0002B\u0001aB\u0002bc' }, attrs: { out_type: d.string }, expect: { output: ['a', 'bc'] } },
    { given: { serialized: '\b\u0001\u0012\u0004\u0012\u0002\b\u0003' }, attrs: { out_type: d.float32 }, expect: { output: [0, 0, 0] } },
    { given: { serialized: '\b\u0003\u0012\u0004\u0012\u0002\b\u0002:\u0002\u0005\u0006' }, attrs: { out_type: d.int32 }, expect: { output: { dtype: 'int32', value: [5, 6] } } },
    { given: { serialized: 'junk' }, attrs: { out_type: d.float32 }, fails: /Could not parse `serialized` as TensorProto, base64: anVuaw==/ },
    { given: { serialized: '\b\u0001\u0012\u0004\u0012\u0002\b\u0003' }, attrs: { out_type: d.int32 }, fails: /Type mismatch between parsed tensor \(float\) and dtype \(int32\)/ },
    { given: { serialized: '\b\u0001\u0012\u0004\u0012\u0002\b\u0003"\u0003abc' }, attrs: { out_type: d.float32 }, fails: /Cannot parse tensor from/ },
    { given: { serialized: ['x'] }, attrs: { out_type: d.float32 }, fails: /Expected `serialized` to be a scalar, got shape: \[1\]/ },
  ],
});

export const SerializeTensor = defineOp({
  name: 'SerializeTensor',
  inputs: { tensor: 'T' },
  outputs: { serialized: 'string' },
  attrs: { T: anyType },
  shape: () => ({ serialized: [] }),
  grad: notDifferentiable,
  lower: (p, { tensor }) => ({
    serialized: p.host([tensor], [{ dtype: d.string, shape: [] }], ([array]) => [
      stringArray([], [serialize(array!)]),
    ])[0]!,
  }),
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[2, ?] -> []' },
    { given: { tensor: [1.5, 2] }, expect: { serialized: Uint8Array.of(8, 1, 18, 4, 18, 2, 8, 2, 34, 8, 0, 0, 192, 63, 0, 0, 0, 64) } },
    { given: { tensor: ['a', 'bc'] }, expect: { serialized: '\b\u0007\u0012\u0004\u0012\u0002\b\u0002B\u0001aB\u0002bc' } },
    { given: { tensor: { dtype: 'int64', value: 3 } }, expect: { serialized: '\b\t\u0012\u0000"\b\u0003\u0000\u0000\u0000\u0000\u0000\u0000\u0000' } },
    { given: { tensor: { dtype: 'float32', value: [[], []], shape: [0, 2] } }, expect: { serialized: '\b\u0001\u0012\u0006\u0012\u0000\u0012\u0002\b\u0002' } },
    { given: { tensor: [true, false] }, expect: { serialized: '\b\n\u0012\u0004\u0012\u0002\b\u0002"\u0002\u0001\u0000' } },
  ],
});

/**
 * The tensor in a string that `tf.serializeTensor` made. Adds one `ParseTensor` node.
 *
 * @example tf.parseTensor(tf.serializeTensor(tf.constant([1.5, 2])), tf.float32) // runs to [1.5 2. ]
 */
export function parseTensor(serialized: TensorLike, outType: d.DType, options: { name?: string } = {}): Tensor {
  const { name } = onlyOptions('tf.parseTensor', options, 'name');
  return ParseTensor.build({ serialized }, { name, attrs: { out_type: outType } }).output;
}

/** A tensor as the bytes of a TensorProto, in a string. Adds one `SerializeTensor` node. */
export function serializeTensor(tensor: TensorLike, options: { name?: string } = {}): Tensor {
  const { name } = onlyOptions('tf.serializeTensor', options, 'name');
  return SerializeTensor.build({ tensor }, { name }).serialized;
}
