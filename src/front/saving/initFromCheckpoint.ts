/** @file initFromCheckpoint: variables begin with values of a checkpoint instead of their own first values. */
import { compatible, showTuple } from '../../core/shape.ts';
import { Operation } from '../../graph/operation.ts';
import { device } from '../../graph/scopes.ts';
import { userError } from '../../graph/userError.ts';
import { checkpointAt, openCheckpoint } from '../../io/checkpointReader.ts';
import { RestoreV2 } from '../../ops/files/saver.ts';
import { PartitionedVariable } from '../partitioned.ts';
import type { Variable } from '../variable.ts';
import { variablesByName } from '../variableScope.ts';
import { saveablesOf } from './saveables.ts';

/** What takes a value of a checkpoint: a variable, its slices, its name, or a scope whose name ends in `/`. */
export type AssignmentTarget = string | Variable | PartitionedVariable | readonly Variable[];
export type AssignmentMap =
  | Readonly<Record<string, AssignmentTarget>>
  | readonly (readonly [nameInCheckpoint: string, target: AssignmentTarget])[];

const isPairs = (map: AssignmentMap): map is readonly (readonly [string, AssignmentTarget])[] => Array.isArray(map);

/**
 * Lets variables begin with values of a checkpoint: their initializers read it. Maps names in the checkpoint to variables or
 * their names, or scopes to scopes.
 *
 * @example tf.train.initFromCheckpoint('pretrained', { 'cnn/': 'model/cnn/' });
 */
export function initFromCheckpoint(checkpoint: string, assignmentMap: AssignmentMap): void {
  const prefix = checkpointAt(checkpoint);
  const reader = openCheckpoint(prefix);
  const pairs = isPairs(assignmentMap) ? assignmentMap : Object.entries(assignmentMap);
  const sorted = [...pairs].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const known = variablesByName();
  for (const [name, target] of sorted) {
    const variable = typeof target === 'string' ? variableNamed(target, known) : partsOf(target);
    if (variable) {
      if (!reader.has(name))
        throw userError(
          `Tensor ${name} is not found in ${checkpoint} checkpoint, which has: ${reader.names.join(', ')}`,
        );
      const { shape } = reader.entry(name);
      if (!isSlices(variable) && !compatible(variable.shape, shape))
        throw userError(
          `Shape of variable ${variable.name} (${showTuple(variable.shape)}) doesn't match with shape of tensor ${name} (${showTuple(shape)}) from checkpoint reader.`,
        );
      initialize(variable, prefix, name);
    } else {
      // Neither a variable nor the name of one: a scope.
      for (const [to, tensor] of scopeAssignments(name, String(target), known)) {
        if (!reader.has(tensor))
          throw userError(`Tensor ${tensor} (${to} in ${name}) is not found in ${checkpoint} checkpoint`);
        initialize(variableNamed(to, known)!, prefix, tensor);
      }
    }
  }
}

type Parts = Variable | readonly Variable[];
const isSlices = (x: Parts): x is readonly Variable[] => Array.isArray(x);

const partsOf = (target: Exclude<AssignmentTarget, string>): Parts =>
  target instanceof PartitionedVariable ? [...target] : target;

function variableNamed(name: string, known: ReadonlyMap<string, Variable>): Parts | undefined {
  const whole = known.get(name);
  if (whole) return whole;
  const slices: Variable[] = [];
  for (let v = known.get(`${name}/part_0`); v; v = known.get(`${name}/part_${slices.length}`)) slices.push(v);
  return slices.length > 0 ? slices : undefined;
}

/** The variables under a scope, and the tensors of another scope of the checkpoint that go to them. */
function* scopeAssignments(
  nameInCheckpoint: string,
  target: string,
  known: ReadonlyMap<string, Variable>,
): Generator<readonly [variable: string, tensor: string]> {
  const scope = target.includes('/') ? target.slice(0, target.lastIndexOf('/')) : '';
  if (!nameInCheckpoint.endsWith('/'))
    throw userError(
      `Assignment map with scope only name ${scope} should map to scope only ${nameInCheckpoint}. Should be 'scope/': 'other_scope/'.`,
    );
  const names = new Set<string>();
  for (const name of known.keys())
    if (scope === '' || name.startsWith(`${scope}/`)) names.add(name.replace(/\/part_.*$/s, ''));
  for (const name of [...names].sort()) {
    const inScope = target === '/' ? name.slice(scope.length) : name.slice(scope === '' ? 0 : scope.length + 1);
    yield [name, nameInCheckpoint === '/' ? inScope : nameInCheckpoint + inScope];
  }
}

function initialize(variable: Parts, prefix: string, tensor: string): void {
  const parts = isSlices(variable) ? variable : [variable];
  const wholes = new Set(parts.map((v) => v.saveSliceInfo?.fullName));
  if (wholes.size > 1) throw userError(`Slices must all be from the same tensor: ${[...wholes].join(' != ')}`);
  for (const part of parts) {
    const [saveable] = saveablesOf([part]);
    const [spec] = saveable!.specs;
    const onItsMachine = <T>(body: () => T): T => (part.device === '' ? body() : device(part.device, body));
    const restored = onItsMachine(() =>
      device('/device:CPU:0', () =>
        RestoreV2.build(
          { prefix, tensor_names: [tensor], shape_and_slices: [spec!.slice] },
          { name: 'checkpoint_initializer', attrs: { dtypes: [part.dtype] } },
        ),
      ),
    ).tensors[0]!;
    const op = saveable!.restore([restored], undefined);
    restored.setShape(part.shape);
    part.initializeFrom(op instanceof Operation ? op : op.op, restored);
  }
}
