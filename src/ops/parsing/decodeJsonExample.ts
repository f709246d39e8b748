/** @file DecodeJSONExample: examples written as JSON become serialized ones. */
import { string } from '../../core/dtypes.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { examplesFromJson } from '../../io/jsonExample.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { bytesOf, stringArray, toText } from '../string/text.ts';

export const DecodeJSONExample = defineOp({
  name: 'DecodeJSONExample',
  inputs: { json_examples: 'string' },
  outputs: { binary_examples: 'string' },
  attrs: {},
  shape: ({ json_examples }) => ({ binary_examples: json_examples }),
  grad: gradientPending('TensorFlow has none'),
  lower(p, { json_examples }) {
    const { shape } = json_examples;
    const [binary_examples] = p.host([json_examples], [{ dtype: string, shape }], async ([texts]) => [
      stringArray(shape, await examplesFromJson(bytesOf(texts!), toText)),
    ]);
    return { binary_examples: binary_examples! };
  },
  // biome-ignore format: a table reads better in rows
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    {
      given: { json_examples: ['{"features":{"feature":{"a":{"int64List":{"value":["1",2,-3]}}}}}', '{"features":null}'] },
      expect: { binary_examples: [Uint8Array.of(10, 24, 10, 22, 10, 1, 97, 18, 17, 26, 15, 8, 1, 8, 2, 8, 253, 255, 255, 255, 255, 255, 255, 255, 255, 1), ''] },
    },
    { given: { json_examples: '{"features":{"feature":{"z":{"bytes_list":{"value":["YWI="]}},"a":{}}}}' }, expect: { binary_examples: '\n\u0014\n\u000b\n\u0001z\u0012\u0006\n\u0004\n\u0002ab\n\u0005\n\u0001a\u0012\u0000' } },
    { given: { json_examples: '{"features":{"feature":{"a":{"floatList":{"value":[1.5,"NaN",3]}}}}}' }, expect: { binary_examples: [10, 24, 10, 22, 10, 1, 97, 18, 17, 18, 15, 13, 0, 0, 192, 63, 13, 0, 0, 192, 127, 13, 0, 0, 64, 64].reduce<Uint8Array>((bytes, x, i) => { bytes[i] = x; return bytes; }, new Uint8Array(26)) } },
    { given: { json_examples: '{"features":{"feature":{"a":{"int64List":{"value":[9223372036854775807]}}}}}' }, expect: { binary_examples: Uint8Array.of(10, 19, 10, 17, 10, 1, 97, 18, 12, 26, 10, 8, 255, 255, 255, 255, 255, 255, 255, 255, 127) } },
    { given: { json_examples: '{"features":{"feature":{"a":{"floatList":{"value":[0.14285714285714285,1e-1,-1234567890123456.5E-15]}}}}}' }, expect: { binary_examples: Uint8Array.of(10, 24, 10, 22, 10, 1, 97, 18, 17, 18, 15, 13, 37, 73, 18, 62, 13, 205, 204, 204, 61, 13, 82, 6, 158, 191) } },
    { given: { json_examples: '{"features":{"feature":{"b":{},"10":{},".2":{},"2":{}}}}' }, expect: { binary_examples: '\n\u001e\n\u0005\n\u0001b\u0012\u0000\n\u0006\n\u000210\u0012\u0000\n\u0006\n\u0002.2\u0012\u0000\n\u0005\n\u00012\u0012\u0000' } },
    { given: { json_examples: '{"features":' }, fails: /Error while parsing JSON: / },
    { given: { json_examples: '{"x":1}' }, fails: /Error while parsing JSON: .*[Nn]o such field/ },
    { given: { json_examples: '{"features":{"feature":{"a":{"int64List":{"value":[1.5]}}}}}' }, fails: /Error while parsing JSON: / },
    { given: { json_examples: '{"features":{"feature":{"a":{"floatList":{"value":[1e60]}}}}}' }, fails: /Error while parsing JSON: / },
    { given: { json_examples: '[]' }, fails: /Error while parsing JSON: / },
  ],
});

/**
 * Examples written as JSON, in the form that protobuf gives its messages, as serialized examples for `tf.parseExample`. Adds
 * one `DecodeJSONExample` node.
 *
 * @example tf.decodeJsonExample('{"features": {"feature": {"a": {"int64List": {"value": [1, 2]}}}}}')
 */
export function decodeJsonExample(jsonExamples: TensorLike, options: { name?: string } = {}): Tensor {
  const { name } = onlyOptions('tf.decodeJsonExample', options, 'name');
  return DecodeJSONExample.build({ json_examples: jsonExamples }, { name }).binary_examples;
}
