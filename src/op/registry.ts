/** @file The op registry: every op definition by its GraphDef name, in a form the engine can use without knowing types. */
import type { DType } from '../core/dtypes.ts';
import { InternalError, NotFoundError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { IndexedSlices } from '../graph/indexedSlices.ts';
import type { Operation } from '../graph/operation.ts';
import { type OpSchema, setOpLookup } from '../graph/opSchema.ts';
import type { Tensor } from '../graph/tensor.ts';
import type { ProgramBuilder } from '../program/builder.ts';
import type { Value } from '../program/value.ts';
import type { AttrSpecs } from './attrs.ts';
import type { AnyCase } from './cases.ts';

/** A gradient flowing backwards: dense, or rows of a larger tensor. */
export type Gradient = Tensor | IndexedSlices;

/** What automatic differentiation offers to the gradients of ops that have function bodies. */
export interface GradientTools {
  /**
   * The derivatives of tensors of one graph with respect to others of it, built in the current graph, which captures what
   * it needs; `null` where nothing connects them, or zeros.
   */
  differentiate(
    ys: readonly Tensor[],
    xs: readonly Tensor[],
    options: { readonly gradYs: readonly Gradient[]; readonly unconnected?: 'none' | 'zero' },
  ): (Gradient | null)[];
  /** Whether a tensor can have a gradient at all. */
  isTrainable(tensor: Tensor): boolean;
  /** A zero gradient of a tensor; of a handle, zeros like what it holds. */
  zeros(tensor: Tensor): Tensor;
  /** Whether nobody asked for the gradient of the input at that position, so that nodes for it can be left out. */
  skips?(input: number): boolean;
}

/** One input or output as an OpDef declares it. */
export interface PortSpec {
  readonly name: string;
  /** A fixed type, or the attribute that holds it. */
  readonly type?: DType;
  readonly typeAttr?: string;
  /** Attribute with the number of tensors of a homogeneous list. */
  readonly numberAttr?: string;
  /** Attribute with the types of a mixed list. */
  readonly typeListAttr?: string;
  readonly isRef: boolean;
}

/** What lowering may know of the node besides inputs and attributes. */
export interface LoweredNode {
  readonly name: string;
  readonly device: string;
  /** Types of the outputs, list ports expanded. */
  readonly outputTypes: readonly DType[];
  /** Names of the nodes that the inputs come from. */
  readonly inputNames: readonly string[];
  /** The attributes as the graph has them. */
  readonly rawAttrs: Operation['attrs'];
}

/** A node as a simplifier sees it: it can look at its inputs' producers and propose a replacement. */
export interface RewriteNode {
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly RewriteInput[];
  readonly attrs: Readonly<Record<string, unknown>>;
  /** How many consumers (and fetches) its output 0 has. */
  readonly uses: number;
}
export interface RewriteInput {
  readonly node: RewriteNode;
  readonly index: number;
  /** The value, when the producer is a constant. */
  readonly constant?: NDArray | undefined;
}
/** A replacement: an existing tensor, a constant, or a new node over existing or new ones. */
export type Rewrite =
  | RewriteInput
  | { readonly value: NDArray }
  | { readonly op: string; readonly inputs: readonly Rewrite[]; readonly attrs?: Readonly<Record<string, unknown>> };

/**
 * What an op does where literals become tensors: `'value'` gives the array in its attribute `value` (folded nodes become nodes of
 * this op too), `'list'` joins tensors that are given as a list, `'cast'` gives them the type that the list must have.
 */
export type LiteralRole = 'value' | 'list' | 'cast';

/** Everything the engine asks of an op. */
export interface OpDefinition extends OpSchema {
  readonly name: string;
  readonly inputPorts: readonly PortSpec[];
  readonly outputPorts: readonly PortSpec[];
  readonly attrSpecs: AttrSpecs;
  readonly isCommutative: boolean;
  readonly isAggregate: boolean;
  readonly allowsUninitializedInput: boolean;
  /** It may wait for what another op does, or end such a wait: such ops of one run must not stand in each other's way. */
  readonly mayWait: boolean;
  /** How large its results are is only known when their elements are: what needs them is compiled for one size. */
  readonly isSizedByData: boolean;
  readonly literals?: LiteralRole | undefined;
  /** It can take tensor lists whose elements are known while tracing. */
  readonly takesLists: boolean;
  /** Inputs, by position in the flattened list, whose values are needed while tracing. */
  hostInputs(node: { attrs: Readonly<Record<string, unknown>>; inputCount: number }): readonly number[];
  /** Whether each input, list ports expanded, takes a reference. */
  refInputs(attrs: Readonly<Record<string, unknown>>): readonly boolean[];
  decodeAttrs(op: { attrs: Operation['attrs'] }): Record<string, unknown>;
  readonly gradient:
    | 'none'
    | { readonly pending: string }
    | ((op: Operation, dy: readonly (Gradient | null)[], tools?: GradientTools) => readonly (Gradient | null)[]);
  lower(
    p: ProgramBuilder,
    inputs: readonly Value[],
    attrs: Record<string, unknown>,
    node: LoweredNode,
  ): readonly Value[];
  /** What is known of an integer vector or scalar output while building; `null` entries are unknown. */
  partialValue?(op: Operation, output: number): readonly (number | null)[] | undefined;
  simplify?(node: RewriteNode): { readonly rule: string; readonly to: Rewrite } | undefined;
  readonly cases: () => readonly AnyCase[];
}

const definitions = new Map<string, OpDefinition>();

/** All op definitions by name. */
export const registry: ReadonlyMap<string, OpDefinition> = definitions;

export function register(definition: OpDefinition): void {
  if (definitions.has(definition.name)) throw new Error(`the op ${definition.name} is defined twice`);
  definitions.set(definition.name, definition);
  if (definition.literals) forLiterals.set(definition.literals, definition);
}

const forLiterals = new Map<LiteralRole, OpDefinition>();
/** The op that has this role where literals become tensors. */
export function opForLiterals(role: LiteralRole): OpDefinition {
  const found = forLiterals.get(role);
  if (!found) throw new InternalError(`no op is defined with the role '${role}' for literals`);
  return found;
}

/** The definition of an op type; throws TensorFlow's error for an unknown one. */
export function findOp(type: string): OpDefinition {
  const found = definitions.get(type);
  if (!found)
    throw new NotFoundError(
      `Op type not registered '${type}' in binary running on tensorloom. Make sure the op is spelled as in TensorFlow; docs/support.md lists the ops there are.`,
      { op: type },
    );
  return found;
}

setOpLookup(findOp);
