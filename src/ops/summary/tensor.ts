/** @file TensorSummary and TensorSummaryV2: whole tensors, for the plugins that draw them. */
import { string } from '../../core/dtypes.ts';
import type { NDArray } from '../../core/ndarray.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { SummaryMetadata } from '../../proto/event.ts';
import type { TensorProto } from '../../proto/tensor.ts';
import { constantToProto, tensorToProto } from '../../proto/tensorProto.ts';
import { bytesOf } from '../string/text.ts';
import { summaryArray, summaryResult, textOf, wantScalar } from './encode.ts';

/** A tensor as summaries hold it: numbers as raw bytes, strings as a list, which is what readers can read. */
export function summaryTensor(array: NDArray): TensorProto {
  return array.dtype === string ? constantToProto(array) : tensorToProto(array);
}

/** Metadata that cannot be read counts as none, as in TensorFlow. */
export function metadataOf(array: NDArray): SummaryMetadata {
  try {
    return SummaryMetadata.decode(bytesOf(array)[0]!);
  } catch {
    return SummaryMetadata.create();
  }
}

export const TensorSummaryV2 = defineOp({
  name: 'TensorSummaryV2',
  inputs: { tag: 'string', tensor: 'T', serialized_summary_metadata: 'string' },
  outputs: { summary: 'string' },
  attrs: { T: anyType },
  shape: () => ({ summary: [] }),
  grad: notDifferentiable,
  lower(p, { tag, tensor, serialized_summary_metadata }) {
    wantScalar(tag, 'tag must be scalar');
    wantScalar(serialized_summary_metadata, 'serialized_summary_metadata must be scalar');
    const [summary] = p.host([tag, tensor, serialized_summary_metadata], summaryResult, ([text, array, metadata]) => [
      summaryArray([{ tag: textOf(text!), tensor: summaryTensor(array!), metadata: metadataOf(metadata!) }]),
    ]);
    return { summary: summary! };
  },
  cases: () => [
    { shape: '[], ?, [] -> []' },
    {
      given: { tag: 'q', tensor: ['a', 'b'], serialized_summary_metadata: '\n\u0006\n\u0004text' },
      expect: {
        summary:
          '\n\u001d\n\u0001qB\u000e\b\u0007\u0012\u0004\u0012\u0002\b\u0002B\u0001aB\u0001bJ\b\n\u0006\n\u0004text',
      },
    },
    { given: { tag: ['q'], tensor: 1, serialized_summary_metadata: '' }, fails: /tag must be scalar/ },
    {
      given: { tag: 'q', tensor: 1, serialized_summary_metadata: [''] },
      fails: /serialized_summary_metadata must be scalar/,
    },
  ],
});

export const TensorSummary = defineOp({
  name: 'TensorSummary',
  inputs: { tensor: 'T' },
  outputs: { summary: 'string' },
  attrs: {
    T: anyType,
    description: attr('string', { default: '' }),
    labels: attr('list(string)', { default: [] }),
    display_name: attr('string', { default: '' }),
  },
  shape: () => ({ summary: [] }),
  grad: notDifferentiable,
  lower: (p, { tensor }, _attrs, { name }) => ({
    summary: p.host([tensor], summaryResult, ([array]) => [
      summaryArray([{ node_name: name, tensor: summaryTensor(array!) }]),
    ])[0]!,
  }),
  cases: () => [
    { shape: '? -> []' },
    { shape: '[2, 3] -> []' },
    {
      given: { tensor: { dtype: 'int32', value: [1, 2] } },
      attrs: { description: 'counts' },
      expect: {
        summary: '\n#:\rTensorSummaryB\u0012\b\u0003\u0012\u0004\u0012\u0002\b\u0002"\b\u0001\0\0\0\u0002\0\0\0',
      },
    },
  ],
});
