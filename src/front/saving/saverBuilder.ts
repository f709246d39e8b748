/** @file The nodes of a saver, under `save/`: named, ordered and placed as Python does it. */
import { isFullyDefined, type Shape } from '../../core/shape.ts';
import { DeviceSpec } from '../../graph/device.ts';
import { getDefaultGraph } from '../../graph/graph.ts';
import type { Operation } from '../../graph/operation.ts';
import { controlDependencies, device, nameScope } from '../../graph/scopes.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { node } from '../../op/node.ts';
import { constant, identity, placeholderWithDefault, shape as shapeOf, where } from '../../ops/array/index.ts';
import { MergeV2Checkpoints, RestoreV2, SaveV2, ShardedFilename, ShardedFilespec } from '../../ops/files/saver.ts';
import { group, withDependencies } from '../../ops/flow/group.ts';
import { stringJoin } from '../../ops/string/index.ts';
import { regexFullMatch } from '../../ops/string/regexOps.ts';
import { CheckpointFormatVersion, SaverDef } from '../../proto/metaGraph.ts';
import { PartitionedVariable } from '../partitioned.ts';
import { type SaveableObject, saveablesOf, type VarList } from './saveables.ts';

export interface BuildSaverOptions {
  readonly reshape: boolean;
  readonly sharded: boolean;
  readonly maxToKeep: number;
  readonly keepCheckpointEveryNHours: number;
  readonly name: string | undefined;
  readonly filename: string;
  readonly writeVersion: number;
}

/** Adds the nodes that save and restore; the message says what they are called. */
export function buildSaver(varList: VarList, options: BuildSaverOptions): SaverDef {
  const saveables = saveablesOf(varList);
  const built = nameScope(options.name ?? 'save', () => {
    const given = placeholderWithDefault(options.filename, [], { name: 'filename' });
    const filename = placeholderWithDefault(given, [], { name: 'Const' });
    const builder = new Builder(filename, options);
    if (!options.sharded)
      return { filename, save: builder.save(filename, saveables), restore: builder.restore(saveables, 'restore_all') };
    const shards = byDevice(saveables);
    return { filename, save: builder.saveShards(shards), restore: builder.restoreShards(shards) };
  });
  nameWholes();
  return SaverDef.create({
    filename_tensor_name: built.filename.name,
    save_tensor_name: built.save.name,
    restore_op_name: built.restore.name,
    max_to_keep: options.maxToKeep,
    sharded: options.sharded,
    keep_checkpoint_every_n_hours: options.keepCheckpointEveryNHours,
    version: options.writeVersion,
  });
}

type Shard = readonly [device: string, saveables: readonly SaveableObject[]];

function byDevice(saveables: readonly SaveableObject[]): Shard[] {
  const found = new Map<string, SaveableObject[]>();
  for (const saveable of saveables) {
    const devices = new Set(saveable.specs.map((spec) => DeviceSpec.fromString(spec.device).toString()));
    const [only] = devices;
    if (only === undefined || devices.size > 1)
      throw userError(`All tensors of a saveable object must be on the same device: ${saveable.name}`);
    found.set(only, [...(found.get(only) ?? []), saveable]);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The processor of the machine that a device belongs to: files are written from there. */
const processorOf = (spec: string) =>
  DeviceSpec.fromString(spec)
    .mergedWith(new DeviceSpec({ deviceType: 'CPU', deviceIndex: 0 }))
    .toString();

const on = <T>(spec: string, body: () => T): T => (spec === '' ? body() : device(spec, body));

/** Whole partitioned variables get the node that their name promises, so that a meta graph can name it. */
function nameWholes(): void {
  const graph = getDefaultGraph();
  for (const key of graph.getAllCollectionKeys())
    for (const item of graph.getCollection(key))
      if (item instanceof PartitionedVariable && !graph.has(item.name)) item.asTensor();
}

class Builder {
  constructor(
    private readonly filename: Tensor,
    private readonly options: BuildSaverOptions,
  ) {}

  /** Saves to one file; gives its name once that is done. */
  save(filename: Tensor, saveables: readonly SaveableObject[]): Tensor {
    const specs = saveables.flatMap((s) => s.specs);
    const tensors = specs.map(({ tensor }) => (typeof tensor === 'function' ? tensor() : tensor));
    const names = specs.map(({ name }) => name);
    const slices = specs.map(({ slice }) => slice);
    const save =
      this.options.writeVersion === CheckpointFormatVersion.values.V1
        ? node(
            'SaveSlices',
            { filename, tensor_names: names, shapes_and_slices: slices, data: tensors },
            { name: 'save' },
          )
        : SaveV2.node({ prefix: filename, tensor_names: names, shape_and_slices: slices, tensors });
    return withDependencies([save], filename);
  }

  restore(saveables: readonly SaveableObject[], name: string): Operation {
    const specs = saveables.flatMap((s) => s.specs);
    const tensors = device('/device:CPU:0', () => this.restored(specs));
    let at = 0;
    const assigned = saveables.map((saveable) => {
      const some = tensors.slice(at, (at += saveable.specs.length));
      return saveable.restore(some, this.options.reshape ? saveable.specs.map(shapeFor) : undefined);
    });
    return group(assigned, { name });
  }

  private restored(specs: readonly SaveableObject['specs'][number][]): readonly Tensor[] {
    const inputs = {
      prefix: this.filename,
      tensor_names: specs.map(({ name }) => name),
      shape_and_slices: specs.map(({ slice }) => slice),
    };
    return RestoreV2.build(inputs, { attrs: { dtypes: specs.map(({ dtype }) => dtype) } }).tensors;
  }

  saveShards(shards: readonly Shard[]): Tensor {
    const isV1 = this.options.writeVersion === CheckpointFormatVersion.values.V1;
    const prefix = isV1 ? this.filename : this.temporaryPrefix();
    const count = constant(shards.length, { name: 'num_shards' });
    const parts = shards.map(([spec, saveables], i) =>
      on(isV1 ? spec : processorOf(spec), () => {
        const part = ShardedFilename.build({ basename: prefix, shard: i, num_shards: count }).filename;
        return { part, saved: this.save(part, saveables) };
      }),
    );
    return controlDependencies(
      parts.map(({ saved }) => saved.op),
      () => {
        if (isV1) return ShardedFilespec.build({ basename: this.filename, num_shards: count }).filename;
        return on(processorOf(shards.at(-1)![0]), () => {
          const prefixes = parts.map(({ part }) => part);
          const merged = MergeV2Checkpoints.node({ checkpoint_prefixes: prefixes, destination_prefix: this.filename });
          return controlDependencies([merged], () => identity(this.filename));
        });
      },
    );
  }

  /** Where the shards are before they are merged. Object stores have no folders to rename. */
  private temporaryPrefix(): Tensor {
    return device('/device:CPU:*', () => {
      const isRemote = regexFullMatch(this.filename, '^s3://.*');
      const remote = constant('.part');
      const local = constant('_temp/part');
      return stringJoin([this.filename, where(isRemote, remote, local)]);
    });
  }

  restoreShards(shards: readonly Shard[]): Operation {
    const restores = shards.map(([spec, saveables]) => on(spec, () => this.restore(saveables, 'restore_shard')));
    return group(restores, { name: 'restore_all' });
  }
}

/** The shape that restored tensors take: that of the variable, known now or when it runs. */
function shapeFor({ tensor }: SaveableObject['specs'][number]): TensorLike | Shape {
  const value = typeof tensor === 'function' ? tensor() : tensor;
  return isFullyDefined(value.shape) ? value.shape : shapeOf(value);
}
