/** @file The times of a run as a Chrome trace, for chrome://tracing and Perfetto. */
import type { RunRecord } from '../../proto/runMetadata.ts';

/** What there is besides the times of nodes. */
export interface TraceOptions {
  /** Arrows from nodes to those that use their results in other rows; true unless given. */
  readonly showDataflow?: boolean | undefined;
  /** The results of nodes with their sizes, and how much memory they take together; false unless given. */
  readonly showMemory?: boolean | undefined;
}

interface TraceEvent {
  /** A name, a span of time, two ends of an arrow, something made and deleted, a number. */
  readonly ph: 'M' | 'X' | 's' | 't' | 'N' | 'D' | 'C';
  readonly name: string;
  readonly pid: number;
  readonly tid?: number;
  readonly cat?: 'Op' | 'DataFlow' | 'Tensor' | 'Memory';
  readonly id?: number;
  /** Microseconds. */
  readonly ts?: number;
  readonly dur?: number;
  readonly args?: Readonly<Record<string, string | number>>;
}

/** One run of a node, in its place of the trace. */
interface Span {
  readonly node: string;
  readonly label: string;
  readonly pid: number;
  readonly tid: number;
  readonly start: number;
  readonly end: number;
  readonly bytes: number;
}

/** The op and the inputs of a node in a label such as `d = Mul(c, y)`, or the text after the sign. */
function labelParts(label: string): { readonly op: string; readonly inputs: readonly string[] } {
  const [, what = label] = /^.*? = (.*)$/s.exec(label) ?? [];
  const call = /^(\w+)\((.*)\)$/s.exec(what);
  if (!call) return { op: what, inputs: [] };
  return { op: call[1]!, inputs: call[2] === '' ? [] : call[2]!.split(', ') };
}

/** One process for each device; nodes that overlap are in rows of their own. */
export function chromeTrace(
  record: Pick<RunRecord, 'stepStats' | 'partitionGraphs'>,
  { showDataflow = true, showMemory = false }: TraceOptions = {},
): string {
  const { devStats } = record.stepStats;
  const events: TraceEvent[] = devStats.map(({ device }, pid) => ({
    ph: 'M',
    name: 'process_name',
    pid,
    args: { name: `${device} Compute` },
  }));
  const spans = devStats.flatMap(({ nodeStats }, pid) => spansOf(nodeStats, pid));
  for (const { node, label, pid, tid, start, end } of spans) {
    const { op, inputs } = labelParts(label);
    const args = { name: node, op, ...Object.fromEntries(inputs.map((name, i) => [`input${i}`, name])) };
    events.push({ ph: 'X', cat: 'Op', name: op, pid, tid, ts: start, dur: end - start, args });
  }
  if (showDataflow || showMemory) {
    const edges = edgesOf(spans, sourcesIn(record.partitionGraphs));
    if (showDataflow) events.push(...arrows(edges));
    if (showMemory) events.push(...memory(spans, edges, devStats));
  }
  return JSON.stringify({ traceEvents: events }, null, 1);
}

type NodeTimes = RunRecord['stepStats']['devStats'][number]['nodeStats'];

function spansOf(nodeStats: NodeTimes, pid: number): Span[] {
  const rowEnds: number[] = [];
  return [...nodeStats]
    .sort((a, b) => a.allStartMicros - b.allStartMicros)
    .map(({ nodeName, timelineLabel, allStartMicros, allEndRelMicros, outputBytes = 0 }) => {
      const start = Math.round(allStartMicros);
      const end = start + Math.max(1, Math.round(allEndRelMicros));
      let tid = rowEnds.findIndex((rowEnd) => rowEnd <= start);
      if (tid === -1) tid = rowEnds.length;
      rowEnds[tid] = end;
      return { node: nodeName, label: timelineLabel, pid, tid, start, end, bytes: outputBytes };
    });
}

/** The inputs of the nodes that ran, by name. */
function sourcesIn(graphs: RunRecord['partitionGraphs']): Map<string, readonly string[]> {
  const plain = (input: string) => input.replace(/^\^/, '').replace(/:\d+$/, '');
  return new Map(graphs.flatMap(({ node }) => node.map(({ name, input }) => [name, input.map(plain)] as const)));
}

interface Edge {
  readonly from: Span;
  readonly to: Span;
}

/** From each span to those that use its result. Nodes without a span, such as constants and reshapes, are passed through. */
function edgesOf(spans: readonly Span[], sources: ReadonlyMap<string, readonly string[]>): Edge[] {
  const last = new Map(spans.map((span) => [span.node, span]));
  const first = new Map(spans.toReversed().map((span) => [span.node, span]));
  const edges: Edge[] = [];
  for (const to of first.values()) {
    const seen = new Set<string>();
    const open = [...(sources.get(to.node) ?? [])];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      if (seen.has(name)) continue;
      seen.add(name);
      const from = last.get(name);
      if (from) edges.push({ from, to });
      else open.push(...(sources.get(name) ?? []));
    }
  }
  return edges;
}

/** Within a row an arrow would only say that one thing follows the other. */
function arrows(edges: readonly Edge[]): TraceEvent[] {
  return edges
    .filter(({ from, to }) => from.pid !== to.pid || from.tid !== to.tid)
    .flatMap(({ from, to }, id): TraceEvent[] => {
      const common = { cat: 'DataFlow', name: from.node, id } as const;
      return [
        { ph: 's', ...common, pid: from.pid, tid: from.tid, ts: from.end },
        { ph: 't', ...common, pid: to.pid, tid: to.tid, ts: to.start },
      ];
    });
}

/** Results from when they are begun until their last use ends, and the sum of their sizes on each device. */
function memory(
  spans: readonly Span[],
  edges: readonly Edge[],
  devStats: readonly { readonly device: string }[],
): TraceEvent[] {
  const lastUse = new Map(spans.map((span) => [span, span.end]));
  for (const { from, to } of edges) lastUse.set(from, Math.max(lastUse.get(from)!, to.end));
  const stored = spans.filter(({ bytes }) => bytes > 0);
  const objects = stored.flatMap((span, id): TraceEvent[] => {
    const common = { cat: 'Tensor', name: span.node, pid: span.pid, tid: span.tid, id } as const;
    return [
      { ph: 'N', ...common, ts: span.start, args: { bytes: span.bytes } },
      { ph: 'D', ...common, ts: lastUse.get(span)! },
    ];
  });
  const counters = devStats.flatMap(({ device }, pid) => {
    const own = stored.filter((span) => span.pid === pid);
    const changes = own.flatMap((span) => [
      { ts: span.start, by: span.bytes },
      { ts: lastUse.get(span)!, by: -span.bytes },
    ]);
    let bytes = 0;
    return changes
      .sort((a, b) => a.ts - b.ts || a.by - b.by)
      .map(({ ts, by }): TraceEvent => {
        bytes += by;
        return { ph: 'C', cat: 'Memory', name: `${device} memory`, pid, tid: 0, ts, args: { bytes } };
      });
  });
  return [...objects, ...counters];
}
