/** @file Datasets as graphs: written, read back, and told apart. */
import { int64, string, uint64 } from '../../core/dtypes.ts';
import { FailedPreconditionError, InvalidArgumentError } from '../../core/errors.ts';
import { NDArray, scalar } from '../../core/ndarray.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';
import { DatasetOptions } from '../../proto/datasetOptions.ts';
import { GraphDef } from '../../proto/graph.ts';
import { type Dataset, datasetIn } from './dataset.ts';
import { asked, datasetValue, flag, handle, question, scalarHandle } from './kit.ts';
import { fingerprintArray, graphOf, unknownBatchSize } from './recipe.ts';

/** What `external_state_policy` may say about functions with state. */
const failOnState = 2;

function checkStateless({ statefulOps }: Dataset): void {
  if (statefulOps.length > 0)
    throw new FailedPreconditionError(
      `The dataset cannot be written as a graph, for its functions have state: ${statefulOps.join(', ')} is stateful.`,
    );
}

const graphPorts = { ...question, outputs: { graph: 'string' }, shape: () => ({ graph: [] }) } as const;

function toGraph(p: ProgramBuilder, dataset: Value, mayHaveState: boolean): { graph: Value } {
  const graph = asked(p, dataset, string, (written) => {
    // What the pipeline's options say counts more.
    const policy = DatasetOptions.decode(written.options).external_state_policy;
    if (policy === undefined ? !mayHaveState : policy === failOnState) checkStateless(written);
    return new NDArray(string, [], [GraphDef.encode(graphOf(written))]);
  });
  return { graph };
}

export const DatasetToGraph = defineOp({
  ...graphPorts,
  name: 'DatasetToGraph',
  attrs: {
    stateful_whitelist: attr('list(string)', { default: [], minimum: 0 }),
    allow_stateful: flag(false),
    strip_device_assignment: flag(false),
  },
  lower: (p, { input_dataset }, { allow_stateful }) => toGraph(p, input_dataset, allow_stateful),
});

export const DatasetToGraphV2 = defineOp({
  ...graphPorts,
  name: 'DatasetToGraphV2',
  attrs: { external_state_policy: attr('int', { default: 0 }), strip_device_assignment: flag(false) },
  lower: (p, { input_dataset }, { external_state_policy }) =>
    toGraph(p, input_dataset, external_state_policy !== failOnState),
});

export const DatasetFromGraph = defineOp({
  name: 'DatasetFromGraph',
  inputs: { graph_def: 'string' },
  outputs: handle,
  attrs: {},
  shape: scalarHandle,
  grad: notDifferentiable,
  lower(p, inputs) {
    const { state } = p;
    const made = datasetValue(p, inputs, async ({ graph_def }) => {
      const { node, library } = GraphDef.decode(graph_def.objects[0] as Uint8Array); // strings are bytes
      const results = node.filter(({ op }) => op === '_Retval');
      const [output] = results[0]?.input ?? [];
      if (results.length !== 1 || output === undefined)
        throw new InvalidArgumentError('The graph of a dataset has exactly one node of type _Retval.');
      const nodes = node.filter(({ op }) => op !== '_Retval');
      const run = state.graph(
        { nodes, functions: library?.function ?? [] },
        output.includes(':') ? output : `${output}:0`,
      );
      const [dataset] = await run();
      return datasetIn(dataset!);
    });
    return { handle: made };
  },
  cases: () => [],
});

export const ComputeBatchSize = defineOp({
  ...question,
  name: 'ComputeBatchSize',
  outputs: { batch_size: 'int64' },
  attrs: {},
  shape: () => ({ batch_size: [] }),
  lower: (p, { input_dataset }) => ({
    batch_size: asked(p, input_dataset, int64, ({ recipe }) => scalar(int64, recipe?.batchSize ?? unknownBatchSize)),
  }),
});

export const DatasetFingerprint = defineOp({
  ...question,
  name: 'DatasetFingerprint',
  outputs: { fingerprint: 'uint64' },
  attrs: {},
  shape: () => ({ fingerprint: [] }),
  lower: (p, { input_dataset }) => ({ fingerprint: asked(p, input_dataset, uint64, fingerprintArray) }),
});
