/** @file Looks before values are restored: AssignVariableOp takes any shape, and training would go on with a wrong one. */
import { InvalidArgumentError } from '../../core/errors.ts';
import { compatible, type Dims, showRuntime } from '../../core/shape.ts';
import type { Graph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { openCheckpoint, type TensorReader } from '../../io/checkpointReader.ts';
import { knownValue } from '../../op/constantValue.ts';

/** The operations of these types that an operation waits for, through groups of others. */
function* awaited(op: Operation, type: string, seen = new Set<Operation>()): Generator<Operation> {
  if (seen.has(op)) return;
  seen.add(op);
  if (op.type === type) yield op;
  else for (const before of op.controlInputs) yield* awaited(before, type, seen);
}

function source(tensor: Tensor): Tensor {
  let from = tensor;
  while (from.op.type === 'Identity') from = from.op.inputs[0]!;
  return from;
}

/** The name under which a value is read as a whole from a checkpoint, if it is. */
function wholeName(value: Tensor): string | undefined {
  const { op, index } = source(value);
  if (op.type !== 'RestoreV2') return undefined;
  const [names, slices] = [knownValue(op.inputs[1]!), knownValue(op.inputs[2]!)];
  const textAt = (array: typeof names) => new TextDecoder().decode(array?.objects[index] as Uint8Array | undefined); // strings are bytes
  return names && slices && textAt(slices) === '' ? textAt(names) : undefined;
}

/** Throws where a variable that is restored has another shape than the tensor of its name in a checkpoint. */
export async function checkRestoredShapes(graph: Graph, restoreOp: string, checkpoint: string): Promise<void> {
  let reader: TensorReader | undefined;
  try {
    for (const { inputs } of awaited(graph.getOperationByName(restoreOp), 'AssignVariableOp')) {
      const handle = source(inputs[0]!);
      const name = wholeName(inputs[1]!);
      if (name === undefined || handle.op.type !== 'VarHandleOp') continue;
      reader ??= openCheckpoint(checkpoint);
      if (!reader.has(name)) continue; // the run says so
      const own = handle.op.getAttr('shape') as Dims; // as the op declares it
      const stored = reader.entry(name).shape;
      if (!compatible(own, stored))
        throw new InvalidArgumentError(
          `Assign requires shapes of both tensors to match. lhs shape= ${showRuntime(own!)} rhs shape= ${showRuntime(stored)}\n\t [[variable '${handle.op.name}', '${name}' in the checkpoint. To fill it with the same numbers in its own shape, make the saver with { reshape: true }.]]`,
        );
    }
  } finally {
    await reader?.close();
  }
}
