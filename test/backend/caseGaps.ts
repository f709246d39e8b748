/** @file Ops that cannot have a case of some kind, each with the reason. */
import { dataGaps } from './dataGaps.ts';
import { queueGaps } from './queueGaps.ts';

const callback = 'needs a callback in the process; tested in test/null/flow.test.ts';

const inFrames =
  'means something only in a graph with branches or loops of frames; tested in test/whole/frames.test.ts';
const inArrays = 'needs an array or stack that other nodes make and fill; tested in test/whole/frames.test.ts';
const older = 'needs an array that other nodes make and fill; tested in test/whole/frameOps.test.ts';

const inFunctions = 'needs functions, which cases cannot give; tested in test/front/controlFlow';
const functionalOps = ['If', 'Case', 'While'].flatMap((name) => [name, `Stateless${name}`]);
const callOps = ['PartitionedCall', 'StatefulPartitionedCall'];

/** The same reason for many ops. */
const each = (names: readonly string[], reason: string) => Object.fromEntries(names.map((name) => [name, reason]));

const frameOps = ['Switch', 'RefSwitch', 'RefMerge', 'Enter', 'Exit', 'NextIteration'];
const refLoopOps = ['RefEnter', 'RefExit', 'RefNextIteration'];
const stackOps = ['Stack', 'StackPush', 'StackPop', 'StackClose'].flatMap((name) => [name, `${name}V2`]);
const arrayActions = ['Write', 'Read', 'Gather', 'Scatter', 'Concat', 'Split', 'Size', 'Close'];
const arrayOps = ['', 'Grad', ...arrayActions].map((action) => `TensorArray${action}V3`);
const olderArrayOps = ['', 'Grad', ...arrayActions].flatMap((action) => [
  `TensorArray${action}`,
  `TensorArray${action}V2`,
]);
const differentiableArrayOps = arrayActions
  .slice(0, 6)
  .flatMap((action) => ['V3', 'V2', ''].map((version) => `TensorArray${action}${version}`));

const inLists =
  'takes or makes a list, which cases cannot give; tested in test/whole/functionalGraphs.test.ts and test/front';
const listOps = [
  ...['Length', 'ElementShape', 'GetItem', 'Stack', 'Gather', 'Concat', 'ConcatV2', 'PushBack', 'PushBackBatch'],
  ...['PopBack', 'SetItem', 'Resize', 'ConcatLists', 'Reserve', 'FromTensor', 'Scatter', 'ScatterV2'],
  ...['ScatterIntoExistingList', 'Split'],
].map((name) => `TensorList${name}`);
const optionalOps = ['FromValue', 'None', 'HasValue', 'GetValue'].map((name) => `Optional${name}`);
const withoutListGradient = ['Length', 'ElementShape', 'PushBackBatch', 'ConcatLists', 'Reserve'].map(
  (name) => `TensorList${name}`,
);
const inFiles = 'reads or writes files; tested in test/whole/saver.test.ts and test/null/io';
const fileOps = [
  'WriteFile',
  'SaveV2',
  'RestoreV2',
  'MergeV2Checkpoints',
  'Save',
  'SaveSlices',
  'Restore',
  'RestoreSlice',
];

const writerOps = [
  ...['SummaryWriter', 'CreateSummaryFileWriter', 'CreateSummaryDbWriter', 'FlushSummaryWriter', 'CloseSummaryWriter'],
  'ImportEvent',
  ...['', 'Scalar', 'Histogram', 'Image', 'Audio', 'Graph', 'RawProto'].map((kind) => `Write${kind}Summary`),
];
const inWriters = 'needs a writer that other nodes open; tested in test/front/summary/writerOps.test.ts';

const vocabularyOps = ['GenerateVocabRemapping', 'LoadAndRemapMatrix'];

const inTables = 'needs a table that other nodes make and fill; tested in test/whole/lookupTables.test.ts';
const tableOps = [
  ...['HashTable', 'MutableHashTable', 'MutableHashTableOfTensors', 'InitializeTable', 'InitializeTableFromTextFile'],
  ...['Find', 'Insert', 'Import', 'Export', 'Size'].map((action) => `LookupTable${action}`),
].flatMap((name) => [name, `${name}V2`]);
const moreTableOps = [
  ...['LookupTableRemoveV2', 'MutableDenseHashTableV2', 'AnonymousMutableDenseHashTable'],
  ...['AnonymousHashTable', 'AnonymousMutableHashTable', 'AnonymousMutableHashTableOfTensors'],
];

const raggedVariants = ['RaggedTensorToVariant', 'RaggedTensorFromVariant', 'RaggedTensorToVariantGradient'];
const inRagged = 'takes or makes ragged tensors in variants; tested in test/null/ragged.test.ts';

/** No value case. */
export const withoutValueCase: Readonly<Record<string, string>> = {
  ...dataGaps,
  ...queueGaps,
  ...each([...listOps, ...optionalOps, 'EmptyTensorList'], inLists),
  ...each(raggedVariants, inRagged),
  ...each(fileOps, inFiles),
  ...each(writerOps, inWriters),
  ...each([...tableOps, ...moreTableOps], inTables),
  ...each(vocabularyOps, 'reads files; tested in test/whole/checkpoints.test.ts'),
  ...each([...frameOps, ...refLoopOps, 'RefSelect', '_SwitchN'], inFrames),
  Abort: 'would end the process of a TensorFlow it is compared with; tested in test/whole/frameOps.test.ts',
  ...each(['SymbolicGradient'], inFunctions),
  ...each(['For', 'RemoteCall'], 'calls a function of the library; tested in test/whole/frames.test.ts'),
  ...each([...stackOps, ...arrayOps, 'TensorArrayGradWithShape'], inArrays),
  ...each([...olderArrayOps, 'TensorArrayPack', 'TensorArrayUnpack'], older),
  ...each([...functionalOps, ...callOps], inFunctions),
  Const: 'every other case feeds through it',
  Placeholder: 'has no value of its own: running it is the error that test/tiny checks',
  PlaceholderV2: 'as Placeholder',
  RefIdentity: 'needs a reference variable, which cases cannot give',
  DisableCopyOnRead: 'is a hint that changes no value; tested in test/whole/saver.test.ts',
  DestroyResourceOp: 'leaves nothing to look at; tested in test/whole/variables.test.ts',
  DestroyTemporaryVariable: 'takes only what TemporaryVariable made; tested in test/whole/variables.test.ts',
  PyFunc: callback,
  PyFuncStateless: callback,
  TemporaryVariable: 'its content is undefined until assigned; tested in test/whole/variables.test.ts',
  Timestamp: 'is another one each time; tested in test/null/publicNames.test.ts',
  VarHandleOp: 'a handle has no value; every case of an op that takes one goes through it',
  Variable: 'has no value until assigned; every case of an op that takes a reference goes through VariableV2',
  VariableV2: 'has no value until assigned; every case of an op that takes a reference goes through it',
};

/** No shape case. */
export const withoutShapeCase: Readonly<Record<string, string>> = {
  ...dataGaps,
  ...each([...listOps, ...optionalOps, 'EmptyTensorList'], inLists),
  ...each(
    fileOps.filter((name) => name !== 'WriteFile'),
    inFiles,
  ),
  ...each(vocabularyOps, 'reads files; tested in test/whole/checkpoints.test.ts'),
  _SwitchN: 'only the runtime of TensorFlow makes it; nodes cannot have such a name',
  Const: 'its shape is that of its value',
  Placeholder: 'its shape is its attribute',
  PlaceholderV2: 'its shape is its attribute',
  RefIdentity: 'needs a reference variable, which cases cannot give',
};

const steps = 'constant between jumps: there is no derivative to compare, and TensorFlow gives none or zero';
const handle = 'the gradient belongs to the variable behind the handle; tested with the optimizers';

/** No case whose gradient can be compared with central differences. */
export const withoutGradientCheck: Readonly<Record<string, string>> = {
  ...each(
    listOps.filter((name) => !withoutListGradient.includes(name)),
    inLists,
  ),
  ...each(['OptionalFromValue', 'OptionalGetValue'], inLists),
  ...each(raggedVariants.slice(0, 2), inRagged),
  ...each(
    ['MaxPoolGradGrad', 'MaxPool3DGrad', 'MaxPool3DGradGrad'],
    'jumps where another element of a window becomes the largest; test/backend/windows.test.ts compares with TensorFlow',
  ),
  ...each(
    [
      ...['FakeQuantWithMinMaxArgs', 'FakeQuantWithMinMaxVars', 'FakeQuantWithMinMaxVarsPerChannel'],
      ...[
        'QuantizeAndDequantizeV2',
        'QuantizeAndDequantizeV3',
        'QuantizeAndDequantizeV4',
        'QuantizeAndDequantizeV4Grad',
      ],
    ],
    'rounds to steps, and has the gradient of what it rounds; `npm run differential` compares it with TensorFlow',
  ),
  ...each(['Switch', 'RefSwitch', 'Merge', 'RefMerge'], inFrames),
  ...each(differentiableArrayOps, inArrays),
  ...each([...functionalOps, ...callOps], inFunctions),
  Ceil: steps,
  Floor: steps,
  FloorDiv: steps,
  Rint: steps,
  Round: steps,
  Sign: steps,
  TruncateDiv: steps,
  PreventGradient: 'its gradient is an error',
  RandomGamma: 'the numbers it draws jump between methods; test/backend/mathNn.test.ts compares with TensorFlow',
  ReadVariableOp: handle,
  RefIdentity: 'passes a reference on; what is fed is a value',
  ResourceGather: handle,
  ResourceGatherNd: handle,
};
