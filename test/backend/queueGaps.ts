/** @file Ops of queues, readers and the like, which mean something only together: cases cannot give them their other half. */

const forms = (names: readonly string[]) => names.flatMap((name) => [name, `${name}V2`]);
const makers = ['FIFOQueue', 'PaddingFIFOQueue', 'RandomShuffleQueue', 'PriorityQueue'];
const actions = ['Enqueue', 'EnqueueMany', 'Dequeue', 'DequeueMany', 'DequeueUpTo', 'Close', 'IsClosed', 'Size'];

const queueOps = [...forms(makers), ...forms(actions.map((action) => `Queue${action}`)), 'FakeQueue'];

const readers = ['WholeFile', 'Identity', 'TextLine', 'TFRecord', 'FixedLengthRecord'].map((kind) => `${kind}Reader`);
const reads = [
  'Read',
  'ReadUpTo',
  'NumRecordsProduced',
  'NumWorkUnitsCompleted',
  'SerializeState',
  'RestoreState',
  'Reset',
];
const readerOps = [...forms([...readers, ...reads.map((name) => `Reader${name}`)]), 'RecordInput'];

const mapOps = ['AddSparse', 'AddManySparse'].map((name) => `${name}ToTensorsMap`);

const barrierOps = ['', 'InsertMany', 'TakeMany', 'Close', 'ReadySize', 'IncompleteSize'].map(
  (name) => `Barrier${name}`,
);
const mapActions = ['Stage', 'Unstage', 'UnstageNoKey', 'Peek', 'Size', 'IncompleteSize', 'Clear'];
const stagingOps = [
  ...['Stage', 'Unstage', 'StagePeek', 'StageSize', 'StageClear'],
  ...['Map', 'OrderedMap'].flatMap((kind) => mapActions.map((name) => `${kind}${name}`)),
];
const accumulations = ['ApplyGradient', 'TakeGradient', 'NumAccumulated', 'SetGlobalStep'];
const denseOps = ['ConditionalAccumulator', ...accumulations.map((name) => `Accumulator${name}`)];
const accumulatorOps = [
  ...denseOps.flatMap((name) => [name, `Resource${name}`]),
  ...['ConditionalAccumulator', 'AccumulatorApplyGradient', 'AccumulatorTakeGradient'].map((name) => `Sparse${name}`),
];

const inQueues = 'needs a queue that other nodes make and fill; tested in test/whole/queues.test.ts';

const inReaders = 'needs a queue of files; tested in test/whole/readers.test.ts';

const each = (names: readonly string[], reason: string) => Object.fromEntries(names.map((name) => [name, reason]));

/** No value case. */
export const queueGaps: Readonly<Record<string, string>> = {
  ...each(queueOps, inQueues),
  ...each(readerOps, inReaders),
  ...each(
    [...barrierOps, ...stagingOps, ...accumulatorOps],
    'shares its state with other nodes; tested in test/whole/queueKinds.test.ts',
  ),
  ...each(
    [...mapOps, 'TakeManySparseFromTensorsMap'],
    'keeps tensors for another node; tested in test/whole/inputPipelines.test.ts',
  ),
};
