/** @file What a run recorded as the messages that clients and TensorBoard read. */
import { RunMetadata as RunMetadataMessage } from './config.ts';
import type { GraphDef } from './graph.ts';
import { type CostGraphDef, CostNode, DeviceStepStats, NodeExecStats, type StepStats } from './stepStats.ts';

/** The times of a run's nodes, as sessions collect them. */
interface RunTimes {
  readonly stepStats: {
    readonly devStats: readonly {
      readonly device: string;
      readonly nodeStats: readonly {
        readonly nodeName: string;
        readonly timelineLabel: string;
        /** Microseconds since 1970. */
        readonly allStartMicros: number;
        readonly allEndRelMicros: number;
        /** The size of its results, where it is known. */
        readonly outputBytes?: number;
      }[];
    }[];
  };
}
/** What a run recorded. */
export interface RunRecord extends RunTimes {
  readonly partitionGraphs: readonly GraphDef[];
}

/** A serialized RunMetadata message. */
export function encodeRunMetadata(record: RunRecord): Uint8Array {
  return RunMetadataMessage.encode({
    step_stats: stepStatsProto(record),
    cost_graph: costGraphProto(record),
    partition_graphs: record.partitionGraphs,
  });
}

/** The times of a run. */
export function stepStatsProto({ stepStats }: RunTimes): StepStats {
  return {
    dev_stats: stepStats.devStats.map(({ device, nodeStats }) =>
      DeviceStepStats.create({
        device,
        node_stats: nodeStats.map((node) => {
          const start = Math.round(node.allStartMicros);
          const length = Math.max(1, Math.round(node.allEndRelMicros));
          const { outputBytes: bytes = 0 } = node;
          return NodeExecStats.create({
            node_name: node.nodeName,
            timeline_label: node.timelineLabel,
            all_start_micros: start,
            op_start_rel_micros: 0,
            op_end_rel_micros: length,
            all_end_rel_micros: length,
            scheduled_micros: start,
            all_start_nanos: BigInt(start) * 1000n,
            op_end_rel_nanos: length * 1000,
            all_end_rel_nanos: length * 1000,
            scheduled_nanos: BigInt(start) * 1000n,
            memory: bytes === 0 ? [] : [{ allocator_name: 'cpu', total_bytes: bytes, peak_bytes: bytes }],
          });
        }),
      }),
    ),
  };
}

/** What each node cost, in microseconds. */
export function costGraphProto({ stepStats }: RunTimes): CostGraphDef {
  const nodes = stepStats.devStats.flatMap(({ device, nodeStats }) => nodeStats.map((node) => ({ device, ...node })));
  return {
    node: nodes.map(({ nodeName, device, allEndRelMicros }, id) =>
      CostNode.create({ name: nodeName, device, id, compute_cost: Math.round(allEndRelMicros) }),
    ),
    cost: [],
  };
}
