/** @file group, tuple, withDependencies: operations that wait for others. */

import { IndexedSlices } from '../../graph/indexedSlices.ts';
import { Operation } from '../../graph/operation.ts';
import { onlyOptions, splitOptions } from '../../graph/options.ts';
import { colocateWith, controlDependencies, device, nameScope } from '../../graph/scopes.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { identity } from '../array/identity.ts';
import { noOp } from './noOp.ts';

/** Something that can be waited for: an operation, a tensor, or an object with an `op`, such as a variable. */
export type Waitable = Operation | Tensor | { readonly op: Operation; readonly device?: string };
/** Waitables, in lists as deep as one likes; `null` is skipped. */
export type Waitables = Waitable | null | readonly Waitables[];

const opOf = (x: Waitable): Operation => (x instanceof Operation ? x : x.op);

function flatten(inputs: Waitables, into: Waitable[] = []): Waitable[] {
  if (isList(inputs)) for (const x of inputs) flatten(x, into);
  else if (inputs !== null) into.push(inputs);
  return into;
}

function isList(value: Waitables): value is readonly Waitables[] {
  return Array.isArray(value);
}

interface GroupOptions {
  readonly name?: string | undefined;
}

/**
 * One operation that runs after all of `inputs`. Adds one `NoOp` node, and one more per device when there are several.
 *
 * @example const train = tf.group(trainW, trainB, { name: 'train' });
 * @example const train = tf.group([trainW, trainB]);
 */
export function group(...inputs: readonly (Waitables | GroupOptions)[]): Operation {
  const [given, options] = splitOptions<Waitables, GroupOptions>(inputs, {});
  onlyOptions('tf.group', options, 'name');
  return nameScope(options.name ?? 'group_deps', (name) => {
    const byDevice = new Map<string, Operation[]>();
    for (const op of flatten(given).map(opOf)) {
      const list = byDevice.get(op.device);
      if (list) list.push(op);
      else byDevice.set(op.device, [op]);
    }
    if (byDevice.size === 0) return noOp({ name });
    const gather = (spec: string, ops: Operation[], own?: { name: string }) =>
      controlDependencies(ops, () => (spec === '' ? noOp(own) : device(spec, () => noOp(own))));
    const [only] = byDevice;
    if (byDevice.size === 1) return gather(...only!, { name });
    const perDevice = [...byDevice].sort(([a], [b]) => (a < b ? -1 : 1)).map(([spec, ops]) => gather(spec, ops));
    return controlDependencies(perDevice, () => noOp({ name }));
  });
}

/**
 * The value of `output`, given out only after `dependencies` have run. Adds one `Identity` node beside `output`.
 *
 * @example tf.withDependencies([assertion], x) // x, checked
 */
export function withDependencies(
  dependencies: readonly Waitable[],
  output: Tensor,
  options?: { name?: string },
): Tensor;
export function withDependencies<T extends Tensor | IndexedSlices>(
  dependencies: readonly Waitable[],
  output: T,
  options?: { name?: string },
): T;
export function withDependencies(
  dependencies: readonly Waitable[],
  output: Tensor | IndexedSlices,
  options: { name?: string } = {},
): Tensor | IndexedSlices {
  onlyOptions('tf.withDependencies', options, 'name');
  return nameScope(options.name ?? 'control_dependency', (name) =>
    colocateWith(output.op, () =>
      controlDependencies(dependencies, () =>
        output instanceof Tensor
          ? identity(output, { name })
          : new IndexedSlices(identity(output.values, { name }), output.indices, output.denseShape),
      ),
    ),
  );
}

type Member = TensorLike | IndexedSlices | Operation | null;

/**
 * The same tensors, each given out only when all of them are computed. Adds a `NoOp` and an `Identity` per tensor.
 *
 * @example const [a2, b2] = tf.tuple([a, b]);
 */
export function tuple(
  tensors: readonly (Tensor | IndexedSlices | null)[],
  options?: { name?: string; controlInputs?: readonly Waitable[] },
): (Tensor | IndexedSlices | null)[];
export function tuple(
  tensors: readonly Member[],
  options?: { name?: string; controlInputs?: readonly Waitable[] },
): (Tensor | IndexedSlices | Operation | null)[];
export function tuple(
  tensors: readonly Member[],
  options: { name?: string; controlInputs?: readonly Waitable[] } = {},
): (Tensor | IndexedSlices | Operation | null)[] {
  onlyOptions('tf.tuple', options, 'name', 'controlInputs');
  return nameScope(options.name ?? 'tuple', () => {
    const members = tensors.map((t) =>
      t === null || t instanceof Operation || t instanceof IndexedSlices ? t : convertToTensor(t),
    );
    const gating = new Set<Operation>();
    for (const t of members) if (t !== null) gating.add(opOf(t));
    for (const c of options.controlInputs ?? []) gating.add(opOf(c));
    if (gating.size === 0) throw userError("'tensors' must have at least one Tensor, but every entry is null.");
    const gate = group([...gating].sort((a, b) => a.id - b.id));
    return members.map((t) => {
      if (t === null) return null;
      if (t instanceof Operation) return controlDependencies([gate], () => group(t));
      return withDependencies([gate], t);
    });
  });
}
