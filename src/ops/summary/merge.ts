/** @file MergeSummary: several summaries as one. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { Summary } from '../../proto/event.ts';
import { bytesOf, stringArray } from '../string/text.ts';
import { summaryResult } from './encode.ts';

function decoded(bytes: Uint8Array): Summary {
  try {
    return Summary.decode(bytes);
  } catch (cause) {
    throw new InvalidArgumentError('Could not parse one of the summary inputs', { cause });
  }
}

export const MergeSummary = defineOp({
  name: 'MergeSummary',
  inputs: { inputs: 'N * string' },
  outputs: { summary: 'string' },
  attrs: { N: attr('int', { minimum: 1 }) },
  shape: () => ({ summary: [] }),
  grad: notDifferentiable,
  lower: (p, { inputs }) => ({
    summary: p.host(inputs, summaryResult, (arrays) => {
      const parts = arrays.flatMap(bytesOf);
      const seen = new Set<string>();
      for (const part of parts)
        for (const { tag } of decoded(part).value) {
          if (tag !== '' && seen.has(tag))
            throw new InvalidArgumentError(`Duplicate tag ${tag} found in summary inputs`);
          seen.add(tag);
        }
      // A serialized message with one repeated field: appending the bytes appends the elements.
      return [stringArray([], [Buffer.concat(parts)])];
    })[0]!,
  }),
  cases: () => [
    { shape: '[], [] -> []', attrs: { N: 2 } },
    { shape: '?, [3] -> []', attrs: { N: 2 } },
    {
      given: { inputs: ['\n\b\n\u0001a\u0015\0\0\0@', ['\n\b\n\u0001b\u0015\0\0\0\0', '']] },
      expect: { summary: '\n\b\n\u0001a\u0015\0\0\0@\n\b\n\u0001b\u0015\0\0\0\0' },
    },
    {
      given: { inputs: ['\n\b\n\u0001a\u0015\0\0\0@', '\n\b\n\u0001a\u0015\0\0\0@'] },
      fails: /Duplicate tag a found in summary inputs/,
    },
    { given: { inputs: ['\u0007'] }, fails: /Could not parse one of the summary inputs/ },
  ],
});
