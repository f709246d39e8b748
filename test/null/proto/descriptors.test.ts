/** @file Every message we declare against real TensorFlow's descriptors: numbers, types, labels, enum values. */
import { expect, it } from 'vitest';
import * as attr from '../../../src/proto/attr.ts';
import * as checkpointState from '../../../src/proto/checkpointState.ts';
import * as config from '../../../src/proto/config.ts';
import * as device from '../../../src/proto/device.ts';
import * as event from '../../../src/proto/event.ts';
import * as example from '../../../src/proto/example.ts';
import * as fullType from '../../../src/proto/fullType.ts';
import * as graph from '../../../src/proto/graph.ts';
import * as master from '../../../src/proto/master.ts';
import { Message } from '../../../src/proto/message.ts';
import * as metaGraph from '../../../src/proto/metaGraph.ts';
import * as opDef from '../../../src/proto/opDef.ts';
import * as queueRunner from '../../../src/proto/queueRunner.ts';
import * as readerState from '../../../src/proto/readerState.ts';
import * as rewriterConfig from '../../../src/proto/rewriterConfig.ts';
import * as savedTensorSlice from '../../../src/proto/savedTensorSlice.ts';
import { type AnyMessage, type FieldEntry, Kind } from '../../../src/proto/schema.ts';
import * as snapshot from '../../../src/proto/snapshot.ts';
import * as stepStats from '../../../src/proto/stepStats.ts';
import * as tensor from '../../../src/proto/tensor.ts';
import * as tensorBundle from '../../../src/proto/tensorBundle.ts';
import * as trackableObjectGraph from '../../../src/proto/trackableObjectGraph.ts';
import { golden } from './golden.ts';

interface Descriptors {
  readonly messages: Record<string, Record<string, string>>;
  readonly enums: Record<string, Record<string, number>>;
}
const real = golden<Descriptors>('descriptors');

/** TensorFlow's Python package has no descriptors of MasterService, so its messages are not compared here. */
const undescribed = /Request$|Response$/;

const modules = [
  attr,
  checkpointState,
  config,
  device,
  event,
  example,
  fullType,
  graph,
  master,
  metaGraph,
  opDef,
  queueRunner,
  readerState,
  rewriterConfig,
  savedTensorSlice,
  snapshot,
  stepStats,
  tensor,
  tensorBundle,
  trackableObjectGraph,
];
const messages = modules
  .flatMap((m): unknown[] => Object.values(m))
  .filter((x): x is AnyMessage => x instanceof Message && !undescribed.test(x.name));

const kindNames = new Map(Object.entries(Kind).map(([name, kind]) => [kind, name.replace('Number', '')]));

/** A field in the words of tools/golden/proto.py. */
function describeField(field: FieldEntry): string {
  const label = field.label === 'map' ? `map ${kindNames.get(field.key)}` : field.label;
  const target = field.message?.name ?? field.enumType?.name;
  return `${field.number} ${label} ${kindNames.get(field.kind)}${target ? ` ${target}` : ''}`;
}

it('covers all the messages', () => {
  expect(messages.length).toBeGreaterThan(110);
});

it.each(messages.map((m) => [m.name, m] as const))('%s', (name, message) => {
  const theirs = real.messages[name];
  expect(theirs, `TensorFlow has no message ${name}`).toBeDefined();
  for (const field of message.table.fields) {
    const [words, oneof] = theirs![field.name]?.split(' in ') ?? [];
    expect(describeField(field), field.name).toBe(words);
    const rivals = Object.entries(theirs!)
      .filter(([other, text]) => oneof && other !== field.name && text.endsWith(` in ${oneof}`))
      .map(([other]) => other)
      .filter((other) => message.table.byName.has(other));
    expect([...field.rivals].sort()).toEqual(rivals.sort());
    if (field.enumType) expect({ ...field.enumType.values }).toEqual(real.enums[field.enumType.name]);
  }
});
