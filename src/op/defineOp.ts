/** @file defineOp: an op's whole meaning in one record, with types that flow from its ports and attributes. */
import { InternalError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Dims } from '../core/shape.ts';
import type { Operation } from '../graph/operation.ts';
import type { ControlFlow } from '../graph/opSchema.ts';
import type { Tensor, TensorLike } from '../graph/tensor.ts';
import type { ProgramBuilder } from '../program/builder.ts';
import { isPointwise, type Pointwise } from '../program/map.ts';
import type { Value } from '../program/value.ts';
import { addNode } from './addNode.ts';
import type { AttrSpecs, AttrValues } from './attrs.ts';
import type { Case } from './cases.ts';
import { knownValue, partialValueOf, wholeValueOf } from './constantValue.ts';
import { byPort, flatten, type IsList, type Ports, type PortTypes } from './ports.ts';
import {
  type Gradient,
  type GradientTools,
  type LiteralRole,
  type LoweredNode,
  type OpDefinition,
  type Rewrite,
  type RewriteNode,
  register,
} from './registry.ts';
import { Signature } from './signature.ts';

/** What a shape rule may ask about the inputs' values. */
export interface ShapeContext<I extends PortTypes> {
  readonly op: Operation;
  /** The value of an input, when it is a constant or can be worked out from constants and static shapes. */
  value(port: keyof I & string): NDArray | undefined;
  /** What is known of an integer vector or scalar: known entries as numbers, unknown ones `null`. */
  partial(port: keyof I & string): readonly (number | null)[] | undefined;
}

/** What a gradient function sees of its operation. */
export interface GradContext<I extends PortTypes, O extends PortTypes, A extends AttrSpecs> {
  readonly op: Operation;
  readonly inputs: Ports<I, A, Tensor>;
  readonly outputs: Ports<O, A, Tensor>;
  readonly attrs: AttrValues<A>;
}

/** The op has no derivative: integers, shapes, comparisons. Gradients stop here silently, as in TensorFlow. */
export const notDifferentiable = 'none' as const;
/** The derivative exists but is not written; asking for it is an error that says why. */
export const gradientPending = (why: string) => ({ pending: why });

type GradFunction<I extends PortTypes, O extends PortTypes, A extends AttrSpecs> = (
  context: GradContext<I, O, A>,
  dy: Ports<O, A, Gradient>,
  tools: GradientTools,
) => { readonly [K in keyof I]?: IsList<I[K], A> extends true ? readonly (Gradient | null)[] : Gradient | null };

export interface OpSpec<I extends PortTypes, O extends PortTypes, A extends AttrSpecs> {
  readonly name: string;
  readonly inputs: I;
  readonly outputs: O;
  readonly attrs: A;
  /**
   * Keeps state or has effects: never folded, merged or dropped as a duplicate. `'repeatable'` where a pipeline that is saved, or
   * copied, may run it anew elsewhere: nothing that it has kept would be missing. What its functions keep they say themselves.
   */
  readonly stateful?: boolean | 'repeatable';
  /** For a stateful op whose effects need no order: it only reads resources, or draws random numbers. */
  readonly effects?: 'reads' | 'draws';
  readonly commutative?: boolean;
  readonly aggregate?: boolean;
  readonly allowsUninitializedInput?: boolean;
  /** Gives its only input unchanged. */
  readonly isIdentity?: boolean;
  /** A resource or variant that it gives is the one it took at the same position; so it is for an identity. */
  readonly handsOn?: boolean;
  /** What it does where literals become tensors, if it has a part in that. */
  readonly literals?: LiteralRole;
  /** It can take tensor lists whose elements are known while tracing (`Value.list`). */
  readonly takesLists?: boolean;
  /** First GraphDef producer version that may no longer use it. */
  readonly deprecatedSince?: number;
  /** What the op does in control flow by frames; such nodes are not lowered. */
  readonly controlFlow?: ControlFlow;
  /** It may wait for what another op does (an element in a queue), or end such a wait. */
  readonly mayWait?: boolean;
  /** How large its results are is only known when their elements are. */
  readonly isSizedByData?: boolean;
  /** Inputs whose values decide shapes or control: the tracer brings them to the host. */
  readonly hostInputs?: readonly (keyof I & string)[];
  shape(inputs: Ports<I, A, Dims>, attrs: AttrValues<A>, context: ShapeContext<I>): Ports<O, A, Dims>;
  readonly grad: GradFunction<I, O, A> | typeof notDifferentiable | { readonly pending: string };
  readonly lower:
    | Pointwise<AttrValues<A>>
    | ((p: ProgramBuilder, inputs: Ports<I, A, Value>, attrs: AttrValues<A>, node: LoweredNode) => Ports<O, A, Value>);
  /** For ops that compute shapes: what is known of an output (by its position) while building. */
  partialValue?(
    context: GradContext<I, O, A>,
    known: (t: Tensor) => readonly (number | null)[] | undefined,
    output: number,
  ): readonly (number | null)[] | undefined;
  /**
   * TensorFlow's shape inference follows single entries of a shape through this op. Through any other op it computes only
   * with values that are known whole; knowing more than it does would give other static shapes than Python's, and so,
   * where a function asks for them, other nodes.
   */
  readonly followsEntries?: boolean;
  /** A cheaper equivalent of a node of this op, and the name of the rule for the report. */
  simplify?(node: RewriteNode): { readonly rule: string; readonly to: Rewrite } | undefined;
  cases(): readonly Case<keyof I & string, keyof O & string>[];
}

export interface BuildOptions<A extends AttrSpecs> {
  readonly name?: string | undefined;
  readonly attrs?: Partial<AttrValues<A>>;
  readonly controlInputs?: readonly Operation[];
}

/** A defined op: `build` adds a node and gives its outputs by port, `node` gives the operation itself. */
export interface Op<I extends PortTypes, O extends PortTypes, A extends AttrSpecs> extends OpDefinition {
  build(inputs: Ports<I, A, TensorLike>, options?: BuildOptions<A>): Ports<O, A, Tensor>;
  node(inputs: Ports<I, A, TensorLike>, options?: BuildOptions<A>): Operation;
}

/** Defines an op and registers it. */
export function defineOp<const I extends PortTypes, const O extends PortTypes, const A extends AttrSpecs>(
  spec: OpSpec<I, O, A>,
): Op<I, O, A> {
  const signature = new Signature(spec.name, spec.inputs, spec.outputs, spec.attrs);
  const { inputPorts, outputPorts } = signature;
  // The records below are built from the same port tables that the types come from.
  const contextOf = (op: Operation): GradContext<I, O, A> => {
    const attrs = signature.decode(op.attrs);
    return {
      op,
      inputs: byPort(inputPorts, attrs, op.inputs) as Ports<I, A, Tensor>,
      outputs: byPort(outputPorts, attrs, op.outputs) as Ports<O, A, Tensor>,
      attrs: attrs as AttrValues<A>,
    };
  };
  const definition: Op<I, O, A> = {
    name: spec.name,
    inputPorts,
    outputPorts,
    attrSpecs: spec.attrs,
    isStateful: spec.stateful !== undefined && spec.stateful !== false,
    isRepeatable: spec.stateful === 'repeatable',
    effects: spec.effects,
    isCommutative: spec.commutative ?? false,
    isAggregate: spec.aggregate ?? false,
    allowsUninitializedInput: spec.allowsUninitializedInput ?? false,
    isIdentity: spec.isIdentity ?? false,
    handsOn: spec.handsOn ?? spec.isIdentity ?? false,
    literals: spec.literals,
    takesLists: spec.takesLists ?? false,
    deprecatedSince: spec.deprecatedSince,
    controlFlow: spec.controlFlow,
    mayWait: spec.mayWait ?? false,
    isSizedByData: spec.isSizedByData ?? false,
    cases: () => spec.cases(),
    decodeAttrs: (op) => signature.decode(op.attrs),
    complete: (attrs, inputs) => signature.complete(attrs, inputs),
    outputs: (attrs) => signature.outputTypes(attrs),
    outputNames: (attrs) => signature.outputNames(attrs),
    refInputs: (attrs) => signature.refInputs(attrs),

    inferShapes(op) {
      const values = signature.decode(op.attrs);
      const single = (port: string) => byPort(inputPorts, values, op.inputs)[port] as Tensor; // rules ask about single ports
      const context: ShapeContext<I> = {
        op,
        value: (port) => knownValue(single(port)),
        partial: (port) => partialValueOf(single(port)),
      };
      const dims = byPort(
        inputPorts,
        values,
        op.inputs.map((t) => t.shape),
      ) as Ports<I, A, Dims>;
      const result = spec.shape(dims, values as AttrValues<A>, context);
      return flatten<Dims>(outputPorts, values, result as Record<string, Dims>, null);
    },

    hostInputs({ attrs, inputCount }) {
      if (!spec.hostInputs) return [];
      const positions = byPort(
        inputPorts,
        attrs,
        Array.from({ length: inputCount }, (_, i) => i),
      );
      return spec.hostInputs.flatMap((port) => positions[port]!);
    },

    gradient: typeof spec.grad === 'function' ? backward(signature, contextOf, spec.grad) : spec.grad,

    lower(p, inputs, attrs, node) {
      if (isPointwise(spec.lower)) return [p.map(inputs, spec.lower.bind(attrs as AttrValues<A>))];
      const ports = byPort(inputPorts, attrs, inputs) as Ports<I, A, Value>;
      const result = spec.lower(p, ports, attrs as AttrValues<A>, node);
      return outputPorts.flatMap((port) => (result as Record<string, Value | Value[]>)[port.name]!);
    },

    node: (inputs, options) => addNode(signature, inputs, options),

    build(inputs, options) {
      const op = addNode(signature, inputs, options);
      return byPort(outputPorts, signature.decode(op.attrs), op.outputs) as Ports<O, A, Tensor>;
    },
  };
  if (spec.partialValue) {
    const rule = spec.partialValue.bind(spec);
    const known = spec.followsEntries ? partialValueOf : wholeValueOf;
    definition.partialValue = (op, output) => rule(contextOf(op), known, output);
  }
  if (spec.simplify) definition.simplify = spec.simplify.bind(spec);
  register(definition);
  return definition;
}

/** An op's gradient function over flat lists, as automatic differentiation calls it. */
function backward<I extends PortTypes, O extends PortTypes, A extends AttrSpecs>(
  { inputPorts, outputPorts }: Signature,
  contextOf: (op: Operation) => GradContext<I, O, A>,
  grad: GradFunction<I, O, A>,
): Extract<OpDefinition['gradient'], (...args: never[]) => unknown> {
  return (op, dy, tools = noTools) => {
    const context = contextOf(op);
    const result = grad(context, byPort(outputPorts, context.attrs, dy) as Ports<O, A, Gradient>, tools); // as in defineOp
    return flatten<Gradient | null>(inputPorts, context.attrs, result as Record<string, Gradient>, null);
  };
}

const noTools: GradientTools = {
  differentiate: () => outsideAutodiff(),
  isTrainable: () => outsideAutodiff(),
  zeros: () => outsideAutodiff(),
};
function outsideAutodiff(): never {
  throw new InternalError('the gradient of an op with a body was asked for outside tf.gradients');
}
