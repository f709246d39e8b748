/** @file OpSchema: what a graph asks of ops, so that it need not know which ops exist. */
import type { DType } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import type { Dims } from '../core/shape.ts';
import type { AttrValue } from '../proto/attr.ts';
import type { FunctionDef } from '../proto/graph.ts';
import { functionSchema } from './functionSchema.ts';
import type { Operation } from './operation.ts';

/** The type of an input or output of a node. */
export interface PortType {
  readonly dtype: DType;
  readonly isRef: boolean;
}

/** What a graph asks of the op registry, so that it need not know which ops exist. */
export interface OpSchema {
  /** `attrs` with defaults filled in and everything checked against the inputs; throws what is wrong. */
  complete(attrs: Record<string, AttrValue>, inputs: readonly PortType[]): Record<string, AttrValue>;
  outputs(attrs: Record<string, AttrValue>): readonly PortType[];
  /** Static shapes of the outputs of an operation whose inputs are set. */
  inferShapes(op: Operation): readonly Dims[];
  /** How function bodies call each output: `port:index`, the index counting within a list. */
  outputNames(attrs: Record<string, AttrValue>): readonly string[];
  readonly isStateful: boolean;
  /** Stateful, and yet nothing is missing where it is run anew elsewhere. */
  readonly isRepeatable?: boolean;
  /** Its output is its input, unchanged. */
  readonly isIdentity: boolean;
  /** A resource or variant that it gives is the one it took at the same position. */
  readonly handsOn: boolean;
  /** Of what kind the effects of a stateful op are, where they need no order: it reads resources, or draws random numbers. */
  readonly effects?: 'reads' | 'draws' | undefined;
  /** First GraphDef producer version that may no longer use the op. */
  readonly deprecatedSince: number | undefined;
  /** What the op does in control flow by frames, if it has a part in it. */
  readonly controlFlow?: ControlFlow | undefined;
}

/**
 * The parts that ops have in control flow by frames, the kind that graphs of TensorFlow 1.x bring: they decide which values
 * are dead, and in which iteration of which loop a value is.
 */
export type ControlFlow = 'switch' | 'merge' | 'enter' | 'exit' | 'nextIteration' | 'loopCond' | 'controlTrigger';
export type OpLookup = (type: string) => OpSchema;

let lookupOp: OpLookup = (type) => {
  throw new InvalidArgumentError(`Op type not registered '${type}'`);
};
/** Connects graphs with the op registry. Called once when the registry loads. */
export function setOpLookup(lookup: OpLookup): void {
  lookupOp = lookup;
}

/** What ops of this type take and give; a function of the library counts as an op, and comes first. */
export function schemaOf(type: string, functions: ReadonlyMap<string, FunctionDef>): OpSchema {
  const called = functions.get(type);
  return called ? functionSchema(called) : lookupOp(type);
}
