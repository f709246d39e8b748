/** @file The tracer: lowers a pruned graph with the shapes at hand into steps, and says where it must look before going on. */

import type { DType } from '../core/dtypes.ts';
import { FailedPreconditionError, InternalError, OpError } from '../core/errors.ts';
import { NDArray, zeros } from '../core/ndarray.ts';
import type { Dims, Shape } from '../core/shape.ts';
import type { Device, DeviceBuffer } from '../devices/device.ts';
import { readsOf, writesOf } from '../program/access.ts';
import { HostResultNeeded, ProgramBuilder, type ProgramState, type Recorded, ValueNeeded } from '../program/builder.ts';
import { Buffer, type DeviceInstruction, type View } from '../program/instructions.ts';
import { planSegment } from '../program/plan.ts';
import { dense, type Value, type VariableState } from '../program/value.ts';
import { yieldIfLong } from './eventLoop.ts';
import { foldNode } from './fold.ts';
import type { Frame, HostStep, Located, Path, SegmentStep, Source } from './program.ts';
import { type NodeStates, ResourceHandle, type ResourceManager, Variable } from './resources.ts';
import type { Port, RunNode } from './runGraph.ts';

/** What a trace works on. */
export interface TraceTask {
  readonly nodes: readonly RunNode[];
  readonly feeds: readonly Port[];
  readonly feedArrays: readonly NDArray[];
  readonly fetches: readonly Port[];
  readonly device: Device;
  readonly resources: ResourceManager;
  readonly nodeStates: NodeStates;
  readonly defaultContainer: string;
}

/** What must still hold when a program is run again. */
export interface Guards {
  readonly variables: Map<Variable, Shape>;
  /** Feeds whose content was looked at, by position. */
  readonly feeds: Map<number, NDArray>;
}

/** How far a trace has come. Each branch has a state of its own, for runs may follow several at once. */
interface State {
  /** Records the instructions since the last look. */
  readonly builder: ProgramBuilder;
  position: number;
  readonly values: Map<RunNode, readonly Value[]>;
  /** Results of host calls of the node at `position`, made before it could be lowered. */
  hostResults: (readonly Value[])[];
}

export class Trace implements ProgramState {
  readonly guards: Guards = { variables: new Map(), feeds: new Map() };
  /** Objects fixed while tracing. */
  readonly constants: object[] = [];
  private readonly feedSource = new Map<Buffer, Source>();
  private readonly fixed = new Map<Buffer, Source>();
  private readonly states = new Map<DeviceBuffer, Buffer>();
  private readonly slots = new Map<Buffer, number>();
  private readonly lastUse = new Map<RunNode, number>();
  private readonly fetched = new Set<RunNode>();
  private readonly fed = new Map<RunNode, (Value | undefined)[]>();

  constructor(private readonly task: TraceTask) {
    for (const [k, node] of task.nodes.entries()) for (const { node: from } of node.inputs) this.lastUse.set(from, k);
    for (const { node } of task.fetches) this.fetched.add(node);
    for (const [k, { node, index }] of task.feeds.entries()) {
      const array = task.feedArrays[k]!;
      const bytes = array.size * array.dtype.size;
      const buffer = new Buffer('bound', bytes);
      this.feedSource.set(buffer, { kind: 'feed', index: k });
      const values = this.fed.get(node) ?? [];
      values[index] = dense(buffer, array.dtype, array.shape);
      this.fed.set(node, values);
    }
  }

  /** Traces from the beginning to the first point where values must be looked at, or to the end. */
  start(): Promise<Path> {
    return this.advance({ builder: new ProgramBuilder(this), position: 0, values: new Map(), hostResults: [] });
  }

  // ProgramState.
  variableHandle(spec: { container: string; name: string; dtype: DType; shape: Dims }): object {
    const container = spec.container === '' ? this.task.defaultContainer : spec.container;
    return this.task.resources.handle(container, spec.name, spec.dtype, spec.shape);
  }
  variable(handle: object): VariableState {
    if (!(handle instanceof ResourceHandle) || !handle.dtype) throw new InternalError('the resource is not a variable');
    return this.task.resources.variable(handle.container, handle.name, handle.dtype, this.task.device);
  }
  isVariable(handle: object, variable: VariableState): boolean {
    return handle instanceof ResourceHandle && this.task.resources.find(handle) === variable;
  }
  destroy(handle: object): boolean {
    return handle instanceof ResourceHandle && this.task.resources.destroy(handle);
  }
  nodeState(node: string, initial: () => Uint8Array): Buffer {
    const memory = this.task.nodeStates.get(node, initial);
    let buffer = this.states.get(memory);
    if (!buffer) {
      buffer = new Buffer('bound', memory.bytes);
      this.states.set(memory, buffer);
      this.fixed.set(buffer, { kind: 'fixed', buffer: memory });
    }
    return buffer;
  }
  reliesOn(variable: VariableState, shape: Shape): void {
    if (variable instanceof Variable && !this.guards.variables.has(variable))
      this.guards.variables.set(variable, shape);
  }
  objectId(object: object): number {
    return -this.constants.push(object);
  }
  constantObject(id: number): object {
    return this.constants[-1 - id]!;
  }

  /** The same point of the trace again, for one more way to go on from it. */
  private branch({ position, values, hostResults }: State): State {
    return { builder: new ProgramBuilder(this), position, values: new Map(values), hostResults };
  }

  // Lowering.
  /** Lowers nodes until the end, or until something must be run first. */
  private async advance(state: State): Promise<Path> {
    const { nodes } = this.task;
    const { builder } = state;
    while (state.position < nodes.length) {
      const pause = yieldIfLong();
      if (pause) await pause;
      const node = nodes[state.position]!;
      const mark = builder.instructions.length;
      try {
        state.values.set(node, this.lowerNode(node, state));
        state.position++;
        state.hostResults = [];
      } catch (signal) {
        // A host call needs what was recorded to bring its inputs into shape.
        if (!(signal instanceof HostResultNeeded)) builder.instructions.length = mark;
        if (signal instanceof ValueNeeded) {
          const path = this.lookAt(signal.value, node, state);
          if (path) return path;
        } else if (signal instanceof HostResultNeeded) return this.callHost(signal, state);
        else throw located(signal, node);
      }
    }
    return this.finish(state);
  }

  private lowerNode(node: RunNode, state: State): readonly Value[] {
    const { builder } = state;
    builder.begin(node.name);
    builder.hostResults = state.hostResults;
    const inputs = this.inputsOf(node, state);
    for (const i of node.def.hostInputs({ attrs: node.attrs, inputCount: inputs.length })) builder.demand(inputs[i]!);
    const folded = foldNode(
      node,
      inputs.map((v) => v.known),
    );
    return (
      folded?.map((array) => builder.constant(array)) ?? node.def.lower(builder, inputs, node.attrs, lowered(node))
    );
  }

  private inputsOf(node: RunNode, state: State): Value[] {
    return node.inputs.map((port, i) => {
      const value = this.valueOf(port, state);
      // A reference is read when a consumer wants a value, not when the variable node runs.
      if (port.node.outputs[port.index]!.isRef && !node.refInputs[i] && value.variable && !this.isFed(port))
        return state.builder.read(value.variable, () => uninitialized(value.variable!.name));
      return value;
    });
  }

  private isFed({ node, index }: Port): boolean {
    return this.fed.get(node)?.[index] !== undefined;
  }

  private valueOf({ node, index }: Port, state: State): Value {
    const value = this.fed.get(node)?.[index] ?? state.values.get(node)?.[index];
    if (!value) throw new InternalError(`'${node.name}:${index}' has no value; its node was not run`);
    return value;
  }

  // Stopping.
  /** The value must be known: at once for a feed, else by running what is recorded and branching on the content. */
  private lookAt(value: Value, node: RunNode, state: State): Path | undefined {
    const source = this.feedSource.get(value.buffer);
    if (source?.kind === 'feed') {
      const array = this.task.feedArrays[source.index]!;
      this.guards.feeds.set(source.index, array.copy());
      this.remember(value, array, state);
      return undefined;
    }
    if (!node.inputs.some((port) => this.valueOf(port, state) === value) && !value.variable)
      throw new InternalError(`'${node.name}' asks for a value that is not one of its inputs`);
    const whole = state.builder.whole(value);
    const path: Path = { steps: this.flush(state.builder, [whole.buffer], state) };
    const resumeFrom = this.branch(state);
    path.end = {
      values: [this.locate(whole)],
      shapes: [],
      paths: new Map(),
      resume: (_frame, [array]) => {
        const next = this.branch(resumeFrom);
        this.remember(value, array!, next);
        return this.advance(next);
      },
    };
    return path;
  }

  /** From here on the value is known. */
  private remember(value: Value, array: NDArray, state: State): void {
    const known: Value = { ...value, known: array };
    for (const values of this.fed.values()) for (const [i, v] of values.entries()) if (v === value) values[i] = known;
    for (const [node, values] of state.values)
      if (values.includes(value))
        state.values.set(
          node,
          values.map((v) => (v === value ? known : v)),
        );
  }

  /** Runs a host call whose results have data-dependent shapes, then lowers its node with the results. */
  private callHost(signal: HostResultNeeded, state: State): Path {
    const { instruction, results } = signal;
    const steps = this.flush(
      state.builder,
      instruction.inputs.map((v) => v.buffer),
      state,
    );
    const outputs = results.map((r) => ({ slot: this.newSlot(new Buffer('temp', 0)), dtype: r.dtype }));
    steps.push({ kind: 'host', instruction, inputs: instruction.inputs.map((v) => this.locate(v)), outputs });
    const resumeFrom = this.branch(state);
    const resume = (frame: Frame) => {
      const next = this.branch(resumeFrom);
      next.hostResults = [
        ...next.hostResults,
        outputs.map(({ slot, dtype }) => {
          const shape = frame.shapes[slot]!;
          const buffer = new Buffer(
            'bound',
            shape.reduce((n, d) => n * d, dtype.size),
          );
          this.slots.set(buffer, slot);
          return dense(buffer, dtype, shape);
        }),
      ];
      return this.advance(next);
    };
    return { steps, end: { values: [], shapes: outputs.map((o) => o.slot), paths: new Map(), resume } };
  }

  private finish(state: State): Path {
    const { builder } = state;
    const taken = new Set<Buffer>();
    const results = this.task.fetches.map((port) => {
      let value = this.valueOf(port, state);
      if (port.node.outputs[port.index]!.isRef && value.variable && !this.isFed(port))
        value = builder.read(value.variable, () => uninitialized(value.variable!.name));
      if (value.known) return value;
      // The caller owns what it gets: memory of this run, used by one fetch.
      const own = builder.whole(value);
      const result = own.buffer.kind === 'temp' && !taken.has(own.buffer) ? own : builder.copy(value);
      taken.add(result.buffer);
      return result;
    });
    const steps = this.flush(
      builder,
      results.filter((v) => !v.known).map((v) => v.buffer),
    );
    return { steps, end: { fetches: results.map((v) => this.locate(v)) } };
  }

  // From recorded instructions to steps.
  /** Turns what is recorded into steps. `extra` buffers, and values that a trace going on needs, survive in slots. */
  private flush(builder: ProgramBuilder, extra: readonly Buffer[], goingOn?: State): (SegmentStep | HostStep)[] {
    const keep = new Set(extra);
    if (goingOn) this.keepLiveValues(goingOn, keep);
    const recorded = builder.instructions.splice(0);
    const chunks = splitAtHostCalls(recorded);
    const steps: (SegmentStep | HostStep)[] = [];
    // Later chunks may read what earlier ones wrote: collect their reads from the end.
    const neededAfter: Set<Buffer>[] = [];
    const needed = new Set(keep);
    for (let k = chunks.length - 1; k >= 0; k--) {
      const chunk = chunks[k]!;
      for (const v of chunk.host?.inputs ?? []) needed.add(v.buffer);
      neededAfter[k] = new Set(needed);
      for (const i of chunk.device) for (const v of readsOf(i)) needed.add(v.buffer);
    }
    for (const [k, chunk] of chunks.entries()) {
      const segment = this.segmentStep(builder, chunk.device, neededAfter[k]!);
      if (segment) steps.push(segment);
      if (chunk.host) {
        const outputs = chunk.host.outputs!.map((v) => ({
          slot: this.newSlot(v.buffer),
          dtype: v.dtype,
          shape: v.shape,
        }));
        steps.push({
          kind: 'host',
          instruction: chunk.host,
          inputs: chunk.host.inputs.map((v) => this.locate(v)),
          outputs,
        });
      }
    }
    return steps;
  }

  /** Values used by nodes still to come are kept; what is read from a variable is copied, for the variable may change. */
  private keepLiveValues(state: State, keep: Set<Buffer>): void {
    for (const [node, values] of state.values) {
      const live = (this.lastUse.get(node) ?? -1) >= state.position || this.fetched.has(node);
      if (!live) continue;
      const kept = values.map((v) => {
        if (v.known || v.buffer.bytes === 0) return v;
        const copy = v.buffer.owner && !isReference(node) ? state.builder.copy(v) : v;
        if (copy.buffer.kind === 'temp') keep.add(copy.buffer);
        return copy;
      });
      if (kept.some((v, i) => v !== values[i])) state.values.set(node, kept);
    }
  }

  private segmentStep(
    builder: ProgramBuilder,
    recorded: readonly DeviceInstruction[],
    needed: ReadonlySet<Buffer>,
  ): SegmentStep | undefined {
    const keep = new Set([...needed, ...this.slots.keys()].filter((b) => b.kind === 'temp'));
    const segment = planSegment(recorded, keep);
    if (segment.instructions.length === 0) return undefined;
    const assigned = new Map<Variable, Shape>();
    for (const i of segment.instructions)
      for (const { buffer } of writesOf(i))
        if (buffer.owner instanceof Variable) assigned.set(buffer.owner, builder.shapeOfVersion(buffer));
    const allocates: { slot: number; bytes: number }[] = [];
    for (const buffer of segment.bound)
      if (buffer.kind === 'temp' && !this.slots.has(buffer))
        allocates.push({ slot: this.newSlot(buffer), bytes: buffer.bytes });
    const sources = segment.bound.map((b) => this.sourceOf(b));
    return {
      kind: 'segment',
      kernel: this.task.device.compile(segment),
      instructions: segment.instructions,
      sources,
      allocates,
      assigned: [...assigned].map(([variable, shape]) => ({ variable, shape })),
    };
  }

  private newSlot(buffer: Buffer): number {
    const slot = this.slots.size;
    this.slots.set(buffer, slot);
    return slot;
  }

  private sourceOf(buffer: Buffer): Source {
    if (buffer.owner instanceof Variable) return { kind: 'variable', variable: buffer.owner, bytes: buffer.bytes };
    const slot = this.slots.get(buffer);
    const source =
      this.feedSource.get(buffer) ??
      this.fixed.get(buffer) ??
      (slot === undefined ? undefined : { kind: 'slot' as const, slot });
    if (!source) throw new InternalError('a buffer is used that nothing provides');
    return source;
  }

  private locate(value: View & { known?: NDArray }): Located {
    const { dtype, shape } = value;
    if (value.known) return { source: { kind: 'known', array: value.known }, dtype, shape };
    if (value.buffer.kind === 'constant') {
      return { source: { kind: 'known', array: this.constantArray(value) }, dtype, shape };
    }
    if (value.buffer.bytes === 0) return { source: { kind: 'known', array: zeros(dtype, shape) }, dtype, shape };
    return { source: this.sourceOf(value.buffer), dtype, shape };
  }

  /** The array in a constant buffer that a value covers whole. */
  private constantArray({ buffer, dtype, shape }: View): NDArray {
    const bytes = buffer.data!.slice();
    const data = dtype.over(bytes.buffer, 0, bytes.length / dtype.size);
    if (!dtype.isObject) return new NDArray(dtype, shape, data);
    return new NDArray(
      dtype,
      shape,
      Array.from(data as Int32Array, (id) => this.constantObject(id)),
    ); // ids are int32
  }
}

const isReference = (node: RunNode) => node.outputs.some((o) => o.isRef);

function lowered(node: RunNode) {
  return {
    name: node.name,
    device: node.device,
    outputTypes: node.outputs.map((o) => o.dtype),
    inputNames: node.inputs.map((port) => port.node.name),
  };
}

interface Chunk {
  readonly device: DeviceInstruction[];
  host?: Extract<Recorded, { kind: 'host' }>;
}

function splitAtHostCalls(recorded: readonly Recorded[]): Chunk[] {
  const chunks: Chunk[] = [{ device: [] }];
  for (const i of recorded)
    if (i.kind === 'host') {
      chunks.at(-1)!.host = i;
      chunks.push({ device: [] });
    } else chunks.at(-1)!.device.push(i);
  return chunks;
}

function uninitialized(name: string): OpError {
  return new FailedPreconditionError(`Attempting to use uninitialized value ${name}`);
}

/** Errors of lowering say which node they are about. */
function located(error: unknown, node: RunNode): unknown {
  if (!(error instanceof OpError) || error.node !== undefined) return error;
  return error.extended(error.message, { node: node.name, op: node.def.name });
}
