/** @file Folding: a node whose inputs are all known and small is computed at once, on the reference device. */
import { int32 } from '../core/dtypes.ts';
import { InternalError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import { sizeOf } from '../core/shape.ts';
import { ReferenceDevice } from '../devices/reference/device.ts';
import { ProgramBuilder } from '../program/builder.ts';
import { type Buffer, DeviceFailure, type DeviceInstruction } from '../program/instructions.ts';
import { planSegment } from '../program/plan.ts';
import { CallNeeded, type FunctionRef, HostResultNeeded, type ProgramState } from '../program/tracing.ts';
import type { Value } from '../program/value.ts';
import type { RunNode } from './runGraph.ts';

/** Shape arithmetic is tiny; anything larger is left to the device. */
const maxElements = 1024;
const reference = new ReferenceDevice();

/** The outputs of a node for known inputs, or undefined when it is not worth it or not possible here. */
export function foldNode(node: RunNode, inputs: readonly (NDArray | undefined)[]): readonly NDArray[] | undefined {
  if (node.def.isStateful || inputs.length === 0 || !inputs.every(isSmall)) return undefined;
  const state = new FoldState();
  const builder = new ProgramBuilder(state);
  builder.begin(node.name);
  const lowered = lower(
    node,
    inputs.map((array) => builder.constant(array)),
    builder,
  );
  if (!lowered || lowered.some((v) => v.list || sizeOf(v.shape) > maxElements)) return undefined;
  const whole = lowered.map((v) => (v.known ? v : builder.copy(v)));
  if (builder.instructions.some((i) => i.kind === 'host')) return undefined;
  const arrays = compute(
    builder.instructions as DeviceInstruction[], // no host calls among them, as just checked
    whole.filter((v) => !v.known),
  );
  return whole.map((v) => v.known ?? state.restore(v, arrays.get(v)!));
}

const isSmall = (array: NDArray | undefined): array is NDArray => array !== undefined && array.size <= maxElements;

function lower(node: RunNode, inputs: readonly Value[], builder: ProgramBuilder): readonly Value[] | undefined {
  try {
    return node.def.lower(builder, inputs, node.attrs, {
      name: node.name,
      device: node.device,
      outputTypes: node.outputs.map((o) => o.dtype),
      inputNames: node.inputs.map((port) => port.node.name),
      rawAttrs: node.rawAttrs,
    });
  } catch (error) {
    if (error instanceof HostResultNeeded || error instanceof CallNeeded) return undefined;
    throw error;
  }
}

function compute(instructions: readonly DeviceInstruction[], wanted: readonly Value[]): Map<Value, NDArray> {
  const keep = new Set<Buffer>(wanted.map((v) => v.buffer));
  const segment = planSegment(instructions, keep);
  const memory = new Map(segment.bound.map((b) => [b, reference.allocate(b.bytes)]));
  try {
    reference.compile(segment).run(segment.bound.map((b) => memory.get(b)!));
  } catch (error) {
    if (!(error instanceof DeviceFailure)) throw error;
    throw segment.instructions[error.failure.instruction]?.explain?.(error.failure) ?? error;
  }
  return new Map(
    wanted.map((v) => {
      const buffer = memory.get(v.buffer) ?? reference.allocate(v.buffer.bytes);
      return [v, reference.toHost(buffer, v.dtype.isObject ? int32 : v.dtype, v.shape)];
    }),
  );
}

/** Folded nodes are pure: they meet constants and objects, never state. */
class FoldState implements ProgramState {
  private readonly objects: object[] = [];
  objectId(object: object): number {
    return -this.objects.push(object);
  }
  constantObject(id: number): object {
    return this.objects[-1 - id]!;
  }
  /** Ids back to objects. */
  restore(value: Value, array: NDArray): NDArray {
    if (!value.dtype.isObject) return array;
    return new NDArray(
      value.dtype,
      value.shape,
      Array.from(array.data as Int32Array, (id) => this.constantObject(id)),
    ); // ids are int32
  }
  variableHandle(): never {
    throw stateless();
  }
  variable(): never {
    throw stateless();
  }
  graph(): never {
    throw stateless();
  }
  isVariable(): never {
    throw stateless();
  }
  destroy(): never {
    throw stateless();
  }
  sharedHandle(): never {
    throw stateless();
  }
  /** Functions run as programs of their own, so whatever calls one is not folded. */
  hostFunction(body: FunctionRef): never {
    throw new CallNeeded({ body }, []);
  }
  nodeState(): never {
    throw stateless();
  }
  reliesOn(): never {
    throw stateless();
  }
}

const stateless = () => new InternalError('an op that is not declared stateful asked for state');
