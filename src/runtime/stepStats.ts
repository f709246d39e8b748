/** @file What callers are told about a run: what really ran, and how long each node's instructions took. */
import { sizeOf } from '../core/shape.ts';
import type { Timeline } from '../devices/device.ts';
import { writesOf } from '../program/access.ts';
import { describe } from '../program/describe.ts';
import type { DeviceInstruction } from '../program/instructions.ts';
import type { NodeStats, RunMetadata } from './config.ts';
import type { Placement } from './placement.ts';
import { type Changed, toGraphDef } from './simplify.ts';

/** The time one node took, in nanoseconds since the start of the run. */
export interface NodeTime {
  readonly node: string;
  /** The instruction, in words. */
  readonly what: string;
  readonly start: number;
  readonly end: number;
  /** The size of what it gave. */
  readonly bytes: number;
}

/** Collects the memory that one run uses, and its times unless nobody wants them: they cost some themselves. */
export class StatsCollector {
  readonly startMicros = Date.now() * 1000;
  readonly times: NodeTime[] = [];
  peakBytes = 0;
  private readonly origin = performance.now();
  constructor(readonly wantsTimes = true) {}

  begin(instructions: readonly DeviceInstruction[]): Timeline | undefined {
    if (!this.wantsTimes) return undefined;
    return { start: new Float64Array(instructions.length), end: new Float64Array(instructions.length) };
  }

  /** Takes note of memory in use besides feeds and variables. */
  useMemory(bytes: number): void {
    this.peakBytes = Math.max(this.peakBytes, bytes);
  }

  /** Takes over the device's times, which count from the start of the segment. */
  end(instructions: readonly DeviceInstruction[], timeline: Timeline | undefined): void {
    if (!timeline) return;
    const first = timeline.start[0] ?? 0;
    const last = timeline.end.at(-1) ?? 0;
    const offset = this.now() - (last - first);
    for (const [k, i] of instructions.entries())
      this.times.push({
        node: i.node ?? '',
        what: describe(i),
        start: timeline.start[k]! - first + offset,
        end: timeline.end[k]! - first + offset,
        bytes: writesOf(i).reduce((sum, { dtype, shape }) => sum + sizeOf(shape) * dtype.size, 0),
      });
  }

  /** Nanoseconds since the start of the run. */
  now(): number {
    return (performance.now() - this.origin) * 1e6;
  }

  /** A call on the host that has just ended. */
  host(node: string, start: number): void {
    if (this.wantsTimes) this.times.push({ node, what: 'host', start, end: this.now(), bytes: 0 });
  }

  /** The times of the nodes on each device; a run that computes nothing was still on the first one. */
  byDevice(deviceOf: (node: string) => string): { device: string; nodeStats: NodeStats[] }[] {
    const devices = new Map<string, NodeStats[]>(this.times.length === 0 ? [[deviceOf(''), []]] : []);
    for (const { node, what, start, end, bytes } of this.times) {
      const device = deviceOf(node);
      if (!devices.has(device)) devices.set(device, []);
      const micros = (end - start) / 1000;
      devices.get(device)!.push({
        nodeName: node,
        timelineLabel: `${node} = ${what}`,
        allStartMicros: this.startMicros + start / 1000,
        opEndRelMicros: micros,
        allEndRelMicros: micros,
        outputBytes: bytes,
      });
    }
    return [...devices].map(([device, nodeStats]) => ({ device, nodeStats }));
  }
}

/** Fills in what a caller wanted to know about a run. */
export function describeRun(
  { nodes, report }: Changed,
  metadata: RunMetadata,
  placement: Placement,
  stats: StatsCollector | undefined,
): void {
  metadata.rewrites = report;
  metadata.partitionGraphs = [toGraphDef(nodes)];
  if (!stats) return;
  metadata.peakBytes = stats.peakBytes;
  if (!stats.wantsTimes) return;
  const devices = new Map(nodes.map((node) => [node.name, placement.deviceFor(node.device)]));
  metadata.stepStats = { devStats: stats.byDevice((node) => devices.get(node) ?? placement.deviceFor('')) };
}
