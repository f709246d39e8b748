/** @file ClusterSpec: which tasks there are, by job, and where they listen. */
import { InvalidArgumentError } from '../core/errors.ts';
import type { ClusterDef } from '../proto/device.ts';

/** Addresses of a job's tasks: a list, or a record by task index when some are left out. */
export type JobTasks = readonly string[] | Readonly<Record<number, string>>;
export type ClusterLike = ClusterSpec | ClusterDef | Readonly<Record<string, JobTasks>>;

/**
 * The tasks of a cluster.
 *
 * @example new tf.train.ClusterSpec({ ps: ['localhost:2222'], worker: { 1: 'localhost:2224' } }).taskIndices('worker') // [1]
 */
export class ClusterSpec {
  private readonly tasks = new Map<string, ReadonlyMap<number, string>>();

  constructor(cluster: ClusterLike) {
    if (cluster instanceof ClusterSpec) {
      for (const [job, tasks] of cluster.tasks) this.tasks.set(job, tasks);
    } else if (isClusterDef(cluster)) {
      for (const { name, tasks } of cluster.job) this.tasks.set(name, indexed(name, tasks));
    } else for (const [job, tasks] of Object.entries(cluster)) this.tasks.set(job, indexed(job, tasks));
  }

  get jobs(): string[] {
    return [...this.tasks.keys()];
  }

  numTasks(job: string): number {
    return this.job(job).size;
  }

  /** The indices that the job has, in order. */
  taskIndices(job: string): number[] {
    return [...this.job(job).keys()].sort((a, b) => a - b);
  }

  taskAddress(job: string, index: number): string {
    const address = this.job(job).get(index);
    if (address === undefined) throw new InvalidArgumentError(`No task with index ${index} in job '${job}'`);
    return address;
  }

  /** Addresses by index, `null` where the job has no such task. */
  jobTasks(job: string): (string | null)[] {
    const tasks = this.job(job);
    return Array.from({ length: Math.max(-1, ...tasks.keys()) + 1 }, (_, i) => tasks.get(i) ?? null);
  }

  /** Lists for jobs with all their tasks, records by index for the others. */
  asDict(): Record<string, string[] | Record<number, string>> {
    const dict: Record<string, string[] | Record<number, string>> = {};
    for (const job of this.jobs) {
      const tasks = this.jobTasks(job);
      const dense = tasks.filter((t) => t !== null);
      dict[job] = dense.length === tasks.length ? dense : Object.fromEntries(this.job(job));
    }
    return dict;
  }

  /** The message, jobs by name and tasks by index. */
  asClusterDef(): ClusterDef {
    const jobs = [...this.tasks].sort(([a], [b]) => (a < b ? -1 : 1));
    return { job: jobs.map(([name, tasks]) => ({ name, tasks: Object.fromEntries(tasks) })) };
  }

  equals(other: ClusterSpec): boolean {
    return JSON.stringify(this.asClusterDef()) === JSON.stringify(other.asClusterDef());
  }

  toString(): string {
    return `ClusterSpec(${JSON.stringify(this.asDict())})`;
  }

  private job(name: string): ReadonlyMap<number, string> {
    const tasks = this.tasks.get(name);
    if (!tasks) throw new InvalidArgumentError(`No such job in cluster: '${name}'`);
    return tasks;
  }
}

/** A message has a list under `job`; a record whose only job is named `job` has a list of addresses there. */
function isClusterDef(cluster: ClusterDef | Readonly<Record<string, JobTasks>>): cluster is ClusterDef {
  return Array.isArray(cluster['job']) && cluster['job'].every((job: unknown) => typeof job === 'object');
}

function indexed(job: string, tasks: JobTasks): ReadonlyMap<number, string> {
  const map = new Map<number, string>();
  for (const [key, address] of Object.entries(tasks)) {
    const index = Number(key);
    if (!Number.isInteger(index) || index < 0 || typeof address !== 'string')
      throw new InvalidArgumentError(
        `The tasks for job '${job}' must be a list of addresses, or a record from task index to address; '${key}' maps to ${String(address)}.`,
      );
    map.set(index, address);
  }
  return map;
}
