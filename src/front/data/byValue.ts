/** @file A function without arguments that makes a dataset again: what a one-shot iterator carries with it. */
import { withContext } from '../../graph/context.ts';
import { FuncGraph } from '../../graph/funcGraph.ts';
import { registerFunction } from '../../graph/functionDef.ts';
import { getDefaultGraph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { schemaOf } from '../../graph/opSchema.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import type { NameAttrList } from '../../proto/attr.ts';

/** Takes what it needs of the graphs around it as copies of the operations. */
class CopyingGraph extends FuncGraph {
  private readonly copies = new Map<Operation, Operation>();

  override capture(tensor: Tensor): Tensor {
    if (tensor.graph === this) return tensor;
    return this.copyOf(tensor.op).outputs[tensor.index]!;
  }

  private copyOf(op: Operation): Operation {
    const known = this.copies.get(op);
    if (known) return known;
    if (op.type.startsWith('Placeholder'))
      throw userError(`Cannot capture a placeholder (name:${op.name}, type:${op.type}) by value. ${remedy}`);
    const { isStateful, isRepeatable } = schemaOf(op.type, this.functions);
    if (isStateful && !isRepeatable)
      throw userError(`Cannot capture a stateful node (name:${op.name}, type:${op.type}) by value. ${remedy}`);
    const inputs = op.inputs.map((t) => this.capture(t));
    const controlInputs = op.controlInputs.map((c) => this.copyOf(c));
    const { _class: _, ...attrs } = op.attrs;
    // An error of the copy is one of the original: it names the same line.
    const copy = withContext({ site: op.site }, () =>
      this.createOp({ type: op.type, inputs, attrs, name: `${op.name}/`, controlInputs }),
    );
    copy.device = op.device;
    this.copies.set(op, copy);
    return copy;
  }
}

const remedy =
  'A likely cause of this error is that the dataset for which you are calling makeOneShotIterator() captures a variable, a table or a placeholder, which is not supported. Use makeInitializableIterator() instead.';

/** A function of the library that makes the dataset of this tensor. */
export function factoryOf(variant: Tensor): NameAttrList {
  const graph = new CopyingGraph(`_make_dataset_${getDefaultGraph().uid()}`);
  graph.asDefault(() => graph.finish([variant]));
  return registerFunction(graph);
}
