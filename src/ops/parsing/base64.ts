/** @file EncodeBase64 and DecodeBase64, with the letters that may stand in addresses of the web. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { latin1 } from '../../io/csv.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { StringMemory } from '../string/stringMemory.ts';
import { mapStrings } from '../string/text.ts';

export const EncodeBase64 = defineOp({
  name: 'EncodeBase64',
  inputs: { input: 'string' },
  outputs: { output: 'string' },
  attrs: { pad: attr('bool', { default: false }) },
  shape: ({ input }) => ({ output: input }),
  grad: notDifferentiable,
  lower: (p, { input }, { pad }) => ({
    output: mapStrings(p, input, (bytes, memory) => {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url');
      return memory.encoded(pad ? text.padEnd(4 * Math.ceil(text.length / 4), '=') : text);
    }),
  }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    { given: { input: ['', 'a', 'ab', 'abc'] }, expect: { output: ['', 'YQ', 'YWI', 'YWJj'] } },
    {
      given: { input: ['', 'a', 'ab', 'abc'] },
      attrs: { pad: true },
      expect: { output: ['', 'YQ==', 'YWI=', 'YWJj'] },
    },
    { given: { input: Uint8Array.of(255, 254, 253) }, expect: { output: '__79' } },
  ],
});

function decode(bytes: Uint8Array, memory: StringMemory): Uint8Array {
  const text = latin1(bytes);
  const body = text.length % 4 === 0 ? text.replace(/==?$/, '') : text;
  if (/[^\w-]/.test(body)) throw new InvalidArgumentError('Invalid character found in base64.');
  if (body.length % 4 === 1) throw new InvalidArgumentError('Base64 string length cannot be 1 modulo 4.');
  const decoded = memory.take(Math.floor((body.length * 3) / 4));
  Buffer.from(decoded.buffer, decoded.byteOffset, decoded.length).write(body, 'base64url');
  return decoded;
}

export const DecodeBase64 = defineOp({
  name: 'DecodeBase64',
  inputs: { input: 'string' },
  outputs: { output: 'string' },
  attrs: {},
  shape: ({ input }) => ({ output: input }),
  grad: notDifferentiable,
  lower: (p, { input }) => ({ output: mapStrings(p, input, decode) }),
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    {
      given: { input: ['', 'YQ', 'YQ==', 'YWI', 'YWI=', 'YWJj'] },
      expect: { output: ['', 'a', 'a', 'ab', 'ab', 'abc'] },
    },
    { given: { input: '__79' }, expect: { output: Uint8Array.of(255, 254, 253) } },
    { given: { input: 'Y+==' }, fails: /Invalid character found in base64\./ },
    { given: { input: 'YQ=' }, fails: /Invalid character found in base64\./ },
    { given: { input: 'YWJjY' }, fails: /Base64 string length cannot be 1 modulo 4\./ },
  ],
});

/**
 * Strings as base64, with `-` and `_`. Adds one `EncodeBase64` node.
 *
 * @example tf.encodeBase64('ab', { pad: true }) // runs to b'YWI='
 */
export function encodeBase64(input: TensorLike, options: { pad?: boolean; name?: string } = {}): Tensor {
  const { pad, name } = onlyOptions('tf.encodeBase64', options, 'pad', 'name');
  return EncodeBase64.build({ input }, { name, attrs: pad === undefined ? {} : { pad } }).output;
}

/**
 * What base64 strings stand for; `-` and `_` are among their letters, padding may be left out. Adds one `DecodeBase64` node.
 *
 * @example tf.decodeBase64('YWI') // runs to b'ab'
 */
export function decodeBase64(input: TensorLike, options: { name?: string } = {}): Tensor {
  const { name } = onlyOptions('tf.decodeBase64', options, 'name');
  return DecodeBase64.build({ input }, { name }).output;
}
