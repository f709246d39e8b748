/** @file ScalarSummary: tagged numbers. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { sameShape, showRuntime } from '../../core/shape.ts';
import { realNumbers } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { bytesOf, toText } from '../string/text.ts';
import { summaryArray, summaryResult } from './encode.ts';

export const ScalarSummary = defineOp({
  name: 'ScalarSummary',
  inputs: { tags: 'string', values: 'T' },
  outputs: { summary: 'string' },
  attrs: { T: realNumbers },
  shape: () => ({ summary: [] }),
  grad: notDifferentiable,
  lower: (p, { tags, values }) => ({
    summary: p.host([tags, values], summaryResult, ([tag, value]) => {
      const texts = bytesOf(tag!).map(toText);
      if (!sameShape(tag!.shape, value!.shape)) {
        const only = texts.length === 1 ? ` (tag '${texts[0]}')` : '';
        throw new InvalidArgumentError(
          `tags and values are not the same shape: ${showRuntime(tag!.shape)} != ${showRuntime(value!.shape)}${only}`,
        );
      }
      return [summaryArray(texts.map((text, i) => ({ tag: text, simple_value: value!.numberAt(i) })))];
    })[0]!,
  }),
  cases: () => [
    { shape: '[], [] -> []' },
    { shape: '[?], ? -> []' },
    { given: { tags: 'loss', values: 0.5 }, expect: { summary: '\n\v\n\u0004loss\u0015\0\0\0?' } },
    {
      given: { tags: ['a', 'b'], values: { dtype: 'int32', value: [2, 0] } },
      expect: { summary: '\n\b\n\u0001a\u0015\0\0\0@\n\b\n\u0001b\u0015\0\0\0\0' },
    },
    {
      given: { tags: 'h', values: { dtype: 'float16', value: 2 } },
      expect: { summary: '\n\b\n\u0001h\u0015\0\0\0@' },
    },
    {
      given: { tags: { dtype: 'string', value: [], shape: [0] }, values: { dtype: 'float64', value: [], shape: [0] } },
      expect: { summary: '' },
    },
    {
      given: { tags: 's', values: [1, 2] },
      fails: /tags and values are not the same shape: \[\] != \[2\] \(tag 's'\)/,
    },
    { given: { tags: ['s', 't'], values: 1 }, fails: /not the same shape: \[2\] != \[\]$/m },
  ],
});
