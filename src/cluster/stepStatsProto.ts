/** @file Step statistics as the message that clients and TensorBoard read. */
import { type CostGraphDef, CostNode, DeviceStepStats, NodeExecStats, type StepStats } from '../proto/stepStats.ts';
import type { RunMetadata } from '../runtime/config.ts';

/** The times of a run. */
export function stepStatsProto({ stepStats }: RunMetadata): StepStats {
  return {
    dev_stats: stepStats.devStats.map(({ device, nodeStats }) =>
      DeviceStepStats.create({
        device,
        node_stats: nodeStats.map((node) => {
          const start = Math.round(node.allStartMicros);
          const length = Math.max(1, Math.round(node.allEndRelMicros));
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
          });
        }),
      }),
    ),
  };
}

/** What each node cost, in microseconds. */
export function costGraphProto({ stepStats }: RunMetadata): CostGraphDef {
  const nodes = stepStats.devStats.flatMap(({ device, nodeStats }) => nodeStats.map((node) => ({ device, ...node })));
  return {
    node: nodes.map(({ nodeName, device, allEndRelMicros }, id) =>
      CostNode.create({ name: nodeName, device, id, compute_cost: Math.round(allEndRelMicros) }),
    ),
    cost: [],
  };
}
