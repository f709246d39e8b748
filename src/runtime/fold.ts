/** @file Folding: a node whose inputs are all known and small is computed at once, on the reference device. */
import { int32 } from '../core/dtypes.ts';
import { NDArray } from '../core/ndarray.ts';
import { sizeOf } from '../core/shape.ts';
import { ReferenceDevice } from '../devices/reference/device.ts';
import { ProgramBuilder } from '../program/builder.ts';
import type { Buffer, DeviceInstruction } from '../program/instructions.ts';
import { DeviceFailure } from '../program/instructions.ts';
import { planSegment } from '../program/plan.ts';
import type { Value } from '../program/value.ts';
import type { RunNode } from './runGraph.ts';

/** Shape arithmetic is tiny; anything larger is left to the device. */
const maxElements = 1024;
const reference = new ReferenceDevice();

/** The node's outputs as constants, or undefined when it must run on the device. */
export function foldNode(node: RunNode, inputs: readonly Value[], builder: ProgramBuilder): Value[] | undefined {
  if (node.def.isStateful || inputs.length === 0) return undefined;
  if (!inputs.every((v) => v.known && v.known.size <= maxElements)) return undefined;
  const scratch = new ProgramBuilder(builder.state);
  scratch.begin(node.name);
  const outputs = node.def.lower(scratch, inputs, node.attrs, {
    name: node.name,
    device: node.device,
    outputTypes: node.outputs.map((o) => o.dtype),
  });
  if (outputs.some((v) => sizeOf(v.shape) > maxElements)) return undefined;
  const whole = outputs.map((v) => (v.known ? v : scratch.copy(v)));
  if (scratch.instructions.some((i) => i.kind === 'host')) return undefined;
  const arrays = compute(
    scratch.instructions as DeviceInstruction[], // no host calls among them, as just checked
    whole.filter((v) => !v.known),
  );
  return whole.map((v) => {
    if (v.known) return builder.constant(v.known);
    const array = arrays.get(v)!;
    const objects = v.dtype.isObject
      ? new NDArray(
          v.dtype,
          v.shape,
          Array.from(array.data as Int32Array, (id) => builder.state.constantObject(id)),
        ) // ids are int32
      : array;
    return builder.constant(objects);
  });
}

function compute(instructions: readonly DeviceInstruction[], wanted: readonly Value[]): Map<Value, NDArray> {
  const keep = new Set<Buffer>(wanted.map((v) => v.buffer));
  const segment = planSegment(instructions, keep);
  const memory = new Map(segment.bound.map((b) => [b, reference.allocate(b.bytes)]));
  try {
    reference.compile(segment).run(segment.bound.map((b) => memory.get(b)!));
  } catch (error) {
    const explain =
      error instanceof DeviceFailure ? segment.instructions[error.failure.instruction]?.explain : undefined;
    throw explain ? explain((error as DeviceFailure).failure) : error; // explain is only set for device failures
  }
  return new Map(
    wanted.map((v) => {
      const buffer = memory.get(v.buffer) ?? reference.allocate(v.buffer.bytes);
      return [v, reference.toHost(buffer, v.dtype.isObject ? int32 : v.dtype, v.shape)];
    }),
  );
}
