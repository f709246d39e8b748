/** @file Which collections hold objects that meta graphs store as messages, and how each is written and read. */
import type { Init, Message } from '../../proto/message.ts';
import { VariableDef } from '../../proto/metaGraph.ts';
import { GraphKeys } from '../collections.ts';
import { Variable } from '../variable.ts';

/** How the members of a collection become bytes of a meta graph, and come back. */
export interface ProtoFunctions {
  /** The bytes of a member; undefined for one that lies outside of the scope that is exported. */
  encode(item: unknown, exportScope: string | undefined): Uint8Array | undefined;
  decode(bytes: Uint8Array, importScope: string | undefined): unknown;
}

const known = new Map<string, ProtoFunctions>();

/**
 * Tells meta graphs how to store the members of a collection.
 *
 * @example registerProtoFunctions('queue_runners', QueueRunnerDef, (runner: QueueRunner, scope) => runner.toProto(scope), QueueRunner.fromProto)
 */
export function registerProtoFunctions<T, P>(
  collection: string,
  type: Message<P>,
  toProto: (item: T, exportScope: string | undefined) => Init<P> | undefined,
  fromProto: (def: P, importScope: string | undefined) => T,
): void {
  known.set(collection, {
    encode(item, exportScope) {
      const def = toProto(item as T, exportScope); // who registers a collection says what is in it
      return def === undefined ? undefined : type.encode(def);
    },
    decode: (bytes, importScope) => fromProto(type.decode(bytes), importScope),
  });
}

/** Undefined for collections of plain values and of nodes. */
export function protoFunctionsOf(collection: string): ProtoFunctions | undefined {
  return known.get(collection);
}

/** Collections whose members are variables: one that is in several is one object. */
export const variableCollections: readonly string[] = [
  GraphKeys.GLOBAL_VARIABLES,
  GraphKeys.LOCAL_VARIABLES,
  GraphKeys.METRIC_VARIABLES,
  GraphKeys.MODEL_VARIABLES,
  GraphKeys.TRAINABLE_VARIABLES,
  GraphKeys.MOVING_AVERAGE_VARIABLES,
  GraphKeys.CONCATENATED_VARIABLES,
  GraphKeys.TRAINABLE_RESOURCE_VARIABLES,
];

for (const collection of [
  GraphKeys.GLOBAL_VARIABLES,
  GraphKeys.TRAINABLE_VARIABLES,
  GraphKeys.MOVING_AVERAGE_VARIABLES,
  GraphKeys.LOCAL_VARIABLES,
  GraphKeys.MODEL_VARIABLES,
  GraphKeys.GLOBAL_STEP,
  GraphKeys.METRIC_VARIABLES,
])
  registerProtoFunctions(collection, VariableDef, (v: Variable, scope) => v.toProto(scope), Variable.fromProto);
