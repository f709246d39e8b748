/** @file The global step: one integer variable that counts training steps. */
import { int64 } from '../core/dtypes.ts';
import { isFullyDefined, showTuple } from '../core/shape.ts';
import { type Graph, getDefaultGraph } from '../graph/graph.ts';
import { evaluate, type Runner } from '../graph/runner.ts';
import { nameScope } from '../graph/scopes.ts';
import { Tensor } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { VariableAggregation } from '../proto/metaGraph.ts';
import { BaseVariable } from './baseVariable.ts';
import { GraphKeys } from './collections.ts';
import { zerosInitializer } from './initializers.ts';
import type { Variable } from './variable.ts';
import { getVariable } from './variableScope.ts';

/** The global step of a graph, the default graph unless given; null when there is none. */
export function getGlobalStep(graph: Graph = getDefaultGraph()): Variable | null {
  const kept = graph.getCollection(GraphKeys.GLOBAL_STEP);
  if (kept.length > 1) return null;
  const step = kept[0] ?? tensorNamed(graph, 'global_step:0');
  if (step === undefined) return null;
  assertGlobalStep(step);
  return step as Variable; // the collection holds variables; an imported graph may have a plain tensor
}

function tensorNamed(graph: Graph, name: string): Tensor | undefined {
  return graph.operations.some((op) => `${op.name}:0` === name && op.outputs.length > 0)
    ? graph.getTensorByName(name)
    : undefined;
}

/** Makes the global step: an int64 variable that begins at zero. */
export function createGlobalStep(graph: Graph = getDefaultGraph()): Variable {
  if (getGlobalStep(graph)) throw userError('"global_step" already exists.');
  const step = graph.asDefault(() =>
    nameScope(null, () =>
      getVariable(GraphKeys.GLOBAL_STEP, [], {
        dtype: int64,
        initializer: zerosInitializer(),
        trainable: false,
        collections: [GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
      }),
    ),
  );
  step.aggregation = VariableAggregation.values.VARIABLE_AGGREGATION_ONLY_FIRST_REPLICA;
  return step;
}

/** The global step of the graph, made when there is none. */
export function getOrCreateGlobalStep(graph: Graph = getDefaultGraph()): Variable {
  return getGlobalStep(graph) ?? createGlobalStep(graph);
}

/** The value of the global step in a session, as a number. */
export async function globalStep(session: Runner, step: Variable | Tensor): Promise<number> {
  const tensor = step instanceof BaseVariable ? step.asGraphElement() : step;
  const [value] = await evaluate(session, [tensor]);
  return value!.numberAt(0);
}

/** Refuses what cannot be a global step. */
export function assertGlobalStep(step: unknown): void {
  if (!(step instanceof BaseVariable || step instanceof Tensor))
    throw userError(`Existing "global_step" must be a Variable or Tensor: ${String(step)}.`);
  if (!step.dtype.isInteger) throw userError(`Existing "global_step" does not have integer type: ${step.dtype}`);
  if (step.shape?.length !== 0 && isFullyDefined(step.shape))
    throw userError(`Existing "global_step" is not scalar: ${showTuple(step.shape)}`);
}
