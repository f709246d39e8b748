/** @file The times of a run as a Chrome trace, for chrome://tracing and Perfetto. */
import type { RunRecord } from '../../proto/runMetadata.ts';

interface TraceEvent {
  readonly ph: 'M' | 'X';
  readonly name: string;
  readonly pid: number;
  readonly tid?: number;
  readonly cat?: 'Op';
  /** Microseconds. */
  readonly ts?: number;
  readonly dur?: number;
  readonly args: Readonly<Record<string, string>>;
}

/** The op and the inputs of a node in a label such as `d = Mul(c, y)`, or the text after the sign. */
function labelParts(label: string): { readonly op: string; readonly inputs: readonly string[] } {
  const [, what = label] = /^.*? = (.*)$/s.exec(label) ?? [];
  const call = /^(\w+)\((.*)\)$/s.exec(what);
  if (!call) return { op: what, inputs: [] };
  return { op: call[1]!, inputs: call[2] === '' ? [] : call[2]!.split(', ') };
}

/** One process for each device; nodes that overlap are in rows of their own. */
export function chromeTrace({ stepStats }: Pick<RunRecord, 'stepStats'>): string {
  const events: TraceEvent[] = [];
  for (const [pid, { device, nodeStats }] of stepStats.devStats.entries()) {
    events.push({ ph: 'M', name: 'process_name', pid, args: { name: `${device} Compute` } });
    const rowEnds: number[] = [];
    for (const node of [...nodeStats].sort((a, b) => a.allStartMicros - b.allStartMicros)) {
      const ts = Math.round(node.allStartMicros);
      const dur = Math.max(1, Math.round(node.allEndRelMicros));
      let tid = rowEnds.findIndex((end) => end <= ts);
      if (tid === -1) tid = rowEnds.length;
      rowEnds[tid] = ts + dur;
      const { op, inputs } = labelParts(node.timelineLabel);
      const args = { name: node.nodeName, op, ...Object.fromEntries(inputs.map((name, i) => [`input${i}`, name])) };
      events.push({ ph: 'X', cat: 'Op', name: op, pid, tid, ts, dur, args });
    }
  }
  return JSON.stringify({ traceEvents: events }, null, 1);
}
