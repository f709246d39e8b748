/** @file The ops that make readers and read with them, for both forms of handles. */
import { int64, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray, scalar } from '../../core/ndarray.ts';
import { showShape } from '../../core/shape.ts';
import type { RecordCompression } from '../../io/records.ts';
import { type AttrValues, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { HostCall } from '../../program/instructions.ts';
import type { HostResult } from '../../program/tracing.ts';
import { byReference, byResource, type Form, handleTo, objectAt, sharedAttrs } from '../queue/handles.ts';
import { Queue } from '../queue/queue.ts';
import { Reader, type ReaderKind } from './reader.ts';
import { fixedLengthReader, identityReader, textLineReader, tfRecordReader, wholeFileReader } from './readerKinds.ts';

/** What all ops that make readers have in common. */
const maker = (form: Form, caseAttrs: Readonly<Record<string, unknown>> = {}) =>
  ({
    inputs: {},
    outputs: { reader_handle: form.port },
    stateful: true,
    shape: () => ({ reader_handle: form.handleShape }),
    grad: notDifferentiable,
    cases: () => [{ shape: `-> ${form.handleCase}`, attrs: caseAttrs }],
  }) as const;

/** The older form of some readers is no more for graphs of this version or later. */
const removed = (form: Form) => (form === byReference ? { deprecatedSince: 26 } : {});

function handle(
  p: ProgramBuilder,
  form: Form,
  attrs: { readonly container: string; readonly shared_name: string },
  node: string,
  kind: ReaderKind,
) {
  const check = (present: object) => {
    if (!(present instanceof Reader))
      throw new InvalidArgumentError(`Resource '${attrs.shared_name}' is no reader, but a ${present.constructor.name}`);
  };
  return { reader_handle: handleTo(p, form, attrs, () => new Reader(kind, node), check) };
}

const wholeFiles = (form: Form) =>
  defineOp({
    name: `WholeFileReader${form.suffix}`,
    ...maker(form),
    attrs: sharedAttrs,
    lower: (p, _, attrs, node) => handle(p, form, attrs, node.name, wholeFileReader),
  });
export const WholeFileReaderV2 = wholeFiles(byResource);
wholeFiles(byReference);

const identities = (form: Form) =>
  defineOp({
    name: `IdentityReader${form.suffix}`,
    ...maker(form),
    ...removed(form),
    attrs: sharedAttrs,
    lower: (p, _, attrs, node) => handle(p, form, attrs, node.name, identityReader),
  });
export const IdentityReaderV2 = identities(byResource);
identities(byReference);

const textLines = (form: Form) =>
  defineOp({
    name: `TextLineReader${form.suffix}`,
    ...maker(form),
    ...removed(form),
    attrs: { skip_header_lines: attr('int', { default: 0 }), ...sharedAttrs },
    lower(p, _, attrs, node) {
      const { skip_header_lines: skipped } = attrs;
      if (skipped < 0) throw new InvalidArgumentError(`skip_header_lines must be >= 0 not ${skipped}`);
      return handle(p, form, attrs, node.name, textLineReader(skipped));
    },
  });
export const TextLineReaderV2 = textLines(byResource);
textLines(byReference);

const records = (form: Form) =>
  defineOp({
    name: `TFRecordReader${form.suffix}`,
    ...maker(form),
    ...removed(form),
    attrs: { ...sharedAttrs, compression_type: attr('string', { default: '' }) },
    lower(p, _, attrs, node) {
      const compression = attrs.compression_type;
      checkCompression(compression);
      return handle(p, form, attrs, node.name, tfRecordReader(compression));
    },
  });
export const TFRecordReaderV2 = records(byResource);
records(byReference);

function checkCompression(compression: string): asserts compression is RecordCompression {
  if (!['', 'GZIP', 'ZLIB'].includes(compression))
    throw new InvalidArgumentError(`Unsupported compression_type: ${compression}. Use '', 'GZIP' or 'ZLIB'.`);
}

const lengths = {
  header_bytes: attr('int', { default: 0 }),
  record_bytes: attr('int'),
  footer_bytes: attr('int', { default: 0 }),
  hop_bytes: attr('int', { default: 0 }),
  ...sharedAttrs,
} as const;

/** The lengths, once they make sense. */
function fixedLength(attrs: AttrValues<typeof lengths>, encoding: string): ReaderKind {
  const { header_bytes: header, record_bytes: record, footer_bytes: footer, hop_bytes: hop } = attrs;
  for (const [name, value] of Object.entries({ header_bytes: header, footer_bytes: footer, hop_bytes: hop }))
    if (value < 0) throw new InvalidArgumentError(`${name} must be >= 0 not ${value}`);
  if (record <= 0) throw new InvalidArgumentError(`record_bytes must be > 0 not ${record}`);
  checkCompression(encoding);
  return fixedLengthReader({ header, record, footer, hop: hop || record, encoding });
}

export const FixedLengthRecordReaderV2 = defineOp({
  name: 'FixedLengthRecordReaderV2',
  ...maker(byResource, { record_bytes: 4 }),
  attrs: { ...lengths, encoding: attr('string', { default: '' }) },
  lower: (p, _, attrs, node) => handle(p, byResource, attrs, node.name, fixedLength(attrs, attrs.encoding)),
});
defineOp({
  name: 'FixedLengthRecordReader',
  ...maker(byReference, { record_bytes: 4 }),
  ...removed(byReference),
  attrs: lengths,
  lower: (p, _, attrs, node) => handle(p, byReference, attrs, node.name, fixedLength(attrs, '')),
});

const readerAt = (array: NDArray | undefined) => objectAt(array!, Reader);
const texts = (bytes: readonly Uint8Array[]) => new NDArray(string, [bytes.length], bytes);
const text = (bytes: Uint8Array) => new NDArray(string, [], [bytes]);

const readOp = ({ suffix, port, stateful, handleCase }: Form) =>
  defineOp({
    name: `ReaderRead${suffix}`,
    inputs: { reader_handle: port, queue_handle: port },
    outputs: { key: 'string', value: 'string' },
    attrs: {},
    stateful,
    mayWait: true,
    shape: () => ({ key: [], value: [] }),
    grad: notDifferentiable,
    lower(p, { reader_handle, queue_handle }) {
      const one: HostResult = { dtype: string, shape: [] };
      const [key, value] = p.host([reader_handle, queue_handle], [one, one], async ([reader, queue], run) => {
        const entry = await readerAt(reader).read(objectAt(queue!, Queue), run);
        return [text(entry.key), text(entry.value)];
      });
      return { key: key!, value: value! };
    },
    cases: () => [{ shape: `${handleCase}, ${handleCase} -> [], []` }],
  });
export const ReaderReadV2 = readOp(byResource);
export const ReaderRead = readOp(byReference);

const readUpToOp = ({ suffix, port, stateful, handleCase }: Form) =>
  defineOp({
    name: `ReaderReadUpTo${suffix}`,
    inputs: { reader_handle: port, queue_handle: port, num_records: 'int64' },
    outputs: { keys: 'string', values: 'string' },
    attrs: {},
    stateful,
    mayWait: true,
    shape: () => ({ keys: [null], values: [null] }),
    grad: notDifferentiable,
    lower(p, { reader_handle, queue_handle, num_records }) {
      const results: HostResult[] = [{ dtype: string }, { dtype: string }];
      const call: HostCall = async ([reader, queue, count], run) => {
        const wanted = count!.numberAt(0);
        if (wanted < 1) throw new InvalidArgumentError(`num_records must be positive, but is ${wanted}`);
        const entries = await readerAt(reader).readUpTo(wanted, objectAt(queue!, Queue), run);
        return [texts(entries.map((entry) => entry.key)), texts(entries.map((entry) => entry.value))];
      };
      const [keys, values] = p.host([reader_handle, queue_handle, num_records], results, call);
      return { keys: keys!, values: values! };
    },
    cases: () => [{ shape: `${handleCase}, ${handleCase}, [] -> [?], [?]` }],
  });
export const ReaderReadUpToV2 = readUpToOp(byResource);
export const ReaderReadUpTo = readUpToOp(byReference);

const countOp = <const O extends string>(
  name: string,
  output: O,
  count: (reader: Reader) => number,
  { suffix, port, stateful, handleCase }: Form,
) =>
  defineOp({
    name: `${name}${suffix}`,
    inputs: { reader_handle: port },
    outputs: { [output]: 'int64' },
    attrs: {},
    stateful,
    shape: () => ({ [output]: [] }),
    grad: notDifferentiable,
    lower: (p, { reader_handle }) => ({
      [output]: p.host([reader_handle], [{ dtype: int64, shape: [] }], ([at]) => [
        scalar(int64, count(readerAt(at))),
      ])[0]!,
    }),
    cases: () => [{ shape: `${handleCase} -> []` }],
  });
const produced = (form: Form) =>
  countOp('ReaderNumRecordsProduced', 'records_produced', (reader) => reader.recordsProduced, form);
const completed = (form: Form) =>
  countOp('ReaderNumWorkUnitsCompleted', 'units_completed', (reader) => reader.workUnitsCompleted, form);
export const ReaderNumRecordsProducedV2 = produced(byResource);
export const ReaderNumRecordsProduced = produced(byReference);
export const ReaderNumWorkUnitsCompletedV2 = completed(byResource);
export const ReaderNumWorkUnitsCompleted = completed(byReference);

const serializeOp = ({ suffix, port, stateful, handleCase }: Form) =>
  defineOp({
    name: `ReaderSerializeState${suffix}`,
    inputs: { reader_handle: port },
    outputs: { state: 'string' },
    attrs: {},
    stateful,
    shape: () => ({ state: [] }),
    grad: notDifferentiable,
    lower: (p, { reader_handle }) => ({
      state: p.host([reader_handle], [{ dtype: string, shape: [] }], ([at]) => [text(readerAt(at).serialize())])[0]!,
    }),
    cases: () => [{ shape: `${handleCase} -> []` }],
  });
export const ReaderSerializeStateV2 = serializeOp(byResource);
export const ReaderSerializeState = serializeOp(byReference);

const restoreOp = ({ suffix, port, stateful, handleCase }: Form) =>
  defineOp({
    name: `ReaderRestoreState${suffix}`,
    inputs: { reader_handle: port, state: 'string' },
    outputs: {},
    attrs: {},
    stateful,
    shape({ state }) {
      if (state !== null && state.length > 0)
        throw new InvalidArgumentError(`state must be a scalar, but has shape ${showShape(state)}`);
      return {};
    },
    grad: notDifferentiable,
    lower(p, { reader_handle, state }) {
      p.host([reader_handle, state], [], ([at, bytes]) => {
        readerAt(at).restore(bytes!.objects[0] as Uint8Array); // elements of string arrays are bytes
        return [];
      });
      return {};
    },
    cases: () => [{ shape: `${handleCase}, [] ->` }, { shape: `${handleCase}, [2]`, rejects: /scalar/ }],
  });
export const ReaderRestoreStateV2 = restoreOp(byResource);
export const ReaderRestoreState = restoreOp(byReference);

const resetOp = ({ suffix, port, stateful, handleCase }: Form) =>
  defineOp({
    name: `ReaderReset${suffix}`,
    inputs: { reader_handle: port },
    outputs: {},
    attrs: {},
    stateful,
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, { reader_handle }) {
      p.host([reader_handle], [], ([at]) => {
        readerAt(at).reset();
        return [];
      });
      return {};
    },
    cases: () => [{ shape: `${handleCase} ->` }],
  });
export const ReaderResetV2 = resetOp(byResource);
export const ReaderReset = resetOp(byReference);
