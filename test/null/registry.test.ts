/** @file Our op schemas equal TensorFlow's; the golden copy of all of TensorFlow's is made by `npm run registry -- --update`. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import '../../src/ops/index.ts';
import { registry } from '../../src/op/registry.ts';
import { OpDef, OpList } from '../../src/proto/opDef.ts';
import { opDefDifferences, opDefOf, registryDifferences } from '../../tools/opDefs.ts';

const golden = OpList.decode(gunzipSync(readFileSync(new URL('../golden/opDefs.pb.gz', import.meta.url))));

it('no op differs from TensorFlow', () => {
  expect(registryDifferences(registry.values(), golden.op)).toEqual([]);
});

it('sees a difference in every part of a schema', () => {
  const ours = opDefOf(registry.get('MatMul')!);
  const changed = OpDef.create({
    ...ours,
    input_arg: ours.input_arg.slice(1),
    output_arg: [],
    attr: ours.attr.map((a) => ({ ...a, default_value: { b: true }, has_minimum: true, allowed_values: undefined })),
    is_stateful: !ours.is_stateful,
    deprecation: { version: 1, explanation: '' },
  });
  const text = opDefDifferences(ours, changed).join('\n');
  for (const part of [
    /inputs is/,
    /outputs is/,
    /default is/,
    /minimum is/,
    /allowed values is/,
    /stateful/,
    /deprecation/,
  ])
    expect(text).toMatch(part);
});
