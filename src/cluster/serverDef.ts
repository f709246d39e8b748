/** @file What a server is told about itself: the ServerDef, completed from whatever a user gives. */
import { InvalidArgumentError } from '../core/errors.ts';
import { ConfigProto } from '../proto/config.ts';
import { ServerDef } from '../proto/master.ts';
import type { Init } from '../proto/message.ts';
import type { SessionConfig } from '../runtime/config.ts';
import { type ClusterLike, ClusterSpec } from './clusterSpec.ts';

export interface ServerIdentity {
  readonly jobName?: string | undefined;
  readonly taskIndex?: number | undefined;
  readonly protocol?: string | undefined;
  /** Options of sessions whose clients give none. */
  readonly config?: SessionConfig | undefined;
}

export type ServerLike = ClusterLike | Init<ServerDef>;

function isServerDef(given: ServerLike): given is Init<ServerDef> {
  return 'cluster' in given && typeof given.cluster === 'object' && 'job_name' in given;
}

/** The whole definition; what is not given must follow from the rest. */
export function makeServerDef(given: ServerLike, identity: ServerIdentity): ServerDef {
  const config = identity.config ? { default_session_config: configToProto(identity.config) } : {};
  if (isServerDef(given))
    return ServerDef.create({
      ...given,
      ...(identity.jobName === undefined ? {} : { job_name: identity.jobName }),
      ...(identity.taskIndex === undefined ? {} : { task_index: identity.taskIndex }),
      protocol: identity.protocol ?? (given.protocol || 'grpc'),
      ...config,
    });
  const spec = new ClusterSpec(given);
  const job_name = identity.jobName ?? only(spec.jobs, 'jobName');
  const task_index = identity.taskIndex ?? only(spec.taskIndices(job_name), 'taskIndex');
  spec.taskAddress(job_name, task_index);
  const protocol = identity.protocol ?? 'grpc';
  return ServerDef.create({ cluster: spec.asClusterDef(), job_name, task_index, protocol, ...config });
}

function only<T>(choices: readonly T[], what: string): T {
  if (choices.length !== 1)
    throw new InvalidArgumentError(
      `Must specify an explicit \`${what}\`: the cluster has ${choices.length || 'none'}${choices.length > 1 ? ` (${choices.join(', ')})` : ''}.`,
    );
  return choices[0]!;
}

/** A session's options as the message that clients send. */
function configToProto(config: SessionConfig): ConfigProto {
  const gpu = config.gpuOptions;
  return ConfigProto.create({
    device_count: config.deviceCount ?? {},
    intra_op_parallelism_threads: config.intraOpParallelismThreads ?? 0,
    inter_op_parallelism_threads: config.interOpParallelismThreads ?? 0,
    allow_soft_placement: config.allowSoftPlacement ?? false,
    log_device_placement: config.logDevicePlacement ?? false,
    operation_timeout_in_ms: config.operationTimeoutInMs ?? 0,
    isolate_session_state: config.isolateSessionState ?? false,
    ...(gpu && {
      gpu_options: {
        allow_growth: gpu.allowGrowth ?? false,
        per_process_gpu_memory_fraction: gpu.perProcessGpuMemoryFraction ?? 0,
      },
    }),
    ...(config.graphOptions?.simplify === false && { graph_options: { optimizer_options: { opt_level: -1 } } }),
  });
}
