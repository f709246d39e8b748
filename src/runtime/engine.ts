/** @file The engine: holds a graph and its state, prepares (feeds, fetches, targets) once, and replays what was traced. */

import { int32 } from '../core/dtypes.ts';
import { DeadlineExceededError, FailedPreconditionError, InvalidArgumentError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import { NDArray as HostArray } from '../core/ndarray.ts';
import { type Shape, sameShape } from '../core/shape.ts';
import type { Device } from '../devices/device.ts';
import type { NodeDef } from '../proto/graph.ts';
import { yieldIfLong } from './eventLoop.ts';
import { Frame, type Path, replay } from './program.ts';
import { NodeStates, type ResourceManager } from './resources.ts';
import { type Port, prune, RunGraph, type RunNode } from './runGraph.ts';
import type { StatsCollector } from './stepStats.ts';
import { type Guards, Trace } from './tracer.ts';

export interface EngineRun {
  readonly signal?: AbortSignal | undefined;
  readonly stats?: StatsCollector | undefined;
}

/** A traced program and the conditions under which it holds. */
interface Program {
  readonly guards: Guards;
  readonly constants: readonly object[];
  readonly path: Path;
}

/** One (feeds, fetches, targets) combination of a graph, with the programs traced for it so far. */
export class Executable {
  private readonly programs = new Map<string, Program[]>();
  constructor(
    private readonly engine: Engine,
    readonly nodes: readonly RunNode[],
    readonly feeds: readonly Port[],
    readonly fetches: readonly Port[],
  ) {}

  /** Runs with these feeds, in the order of `feeds`; gives the fetches in order. */
  async run(feeds: readonly NDArray[], options: EngineRun = {}): Promise<NDArray[]> {
    const pause = yieldIfLong();
    if (pause) await pause;
    this.engine.throwIfClosed();
    const key = this.checkFeeds(feeds);
    const { device } = this.engine;
    const program = this.find(key, feeds) ?? (await this.trace(key, feeds));
    const frame = new Frame(device, [], program.constants, options.signal, options.stats);
    for (const array of feeds)
      frame.feeds.push(device.fromHost(array.dtype.isObject ? this.asIds(array, frame) : array));
    return replay(program.path, frame);
  }

  private asIds(array: NDArray, frame: Frame): NDArray {
    return new HostArray(
      int32,
      array.shape,
      Int32Array.from(array.objects, (x) => frame.addObject(x)),
    );
  }

  private checkFeeds(feeds: readonly NDArray[]): string {
    let key = '';
    for (const [i, array] of feeds.entries()) {
      const { node, index } = this.feeds[i]!;
      const wanted = node.outputs[index]!.dtype;
      if (array.dtype !== wanted)
        throw new InvalidArgumentError(
          `Tensor ${node.name}:${index}, specified in either feed_devices or fetch_devices was fed a ${array.dtype.runtimeName} value, but it is ${wanted.runtimeName}.`,
          { node: node.name },
        );
      key += `${array.shape.join()};`;
    }
    return key;
  }

  private find(key: string, feeds: readonly NDArray[]): Program | undefined {
    return this.programs.get(key)?.find(({ guards }) => holds(guards, feeds));
  }

  private async trace(key: string, feeds: readonly NDArray[]): Promise<Program> {
    const { device, resources, nodeStates, container } = this.engine;
    const trace = new Trace({
      nodes: this.nodes,
      feeds: this.feeds,
      feedArrays: feeds,
      fetches: this.fetches,
      device,
      resources,
      nodeStates,
      defaultContainer: container,
    });
    const path = await trace.start();
    const program = { guards: trace.guards, constants: trace.constants, path };
    const list = this.programs.get(key) ?? [];
    // A value that differs at every run would otherwise pile up programs.
    if (list.length >= 32) list.shift();
    this.programs.set(key, [...list, program]);
    return program;
  }
}

function holds({ variables, feeds: known }: Guards, feeds: readonly NDArray[]): boolean {
  for (const [variable, shape] of variables)
    if (!variable.shape || !sameShape(variable.shape, shape as Shape)) return false;
  for (const [i, array] of known) if (!feeds[i]!.equals(array)) return false;
  return true;
}

/** A session's running half. */
export class Engine {
  readonly graph = new RunGraph();
  readonly nodeStates: NodeStates;
  private readonly executables = new Map<string, Executable>();
  private closed = false;

  constructor(
    readonly device: Device,
    readonly resources: ResourceManager,
    readonly container = 'localhost',
  ) {
    this.nodeStates = new NodeStates(device);
  }

  extend(defs: readonly NodeDef[]): void {
    this.throwIfClosed();
    if (defs.length > 0) this.graph.extend(defs);
  }

  /** What is needed to run these fetches and targets from these feeds; names as in `x:0` and `train_op`. */
  prepare(feeds: readonly string[], fetches: readonly string[], targets: readonly string[]): Executable {
    this.throwIfClosed();
    const key = `${feeds.join()}|${fetches.join()}|${targets.join()}`;
    let found = this.executables.get(key);
    if (!found) {
      const fed = feeds.map((name) => this.graph.port(name, 'FeedInputs'));
      const wanted = fetches.map((name) => this.graph.port(name, 'FetchOutputs'));
      const isFed = (p: Port) => fed.some((f) => f.node === p.node && f.index === p.index);
      const roots = [
        ...wanted.filter((p) => !isFed(p)).map((p) => p.node),
        ...targets.map((name) => this.graph.target(name)),
      ];
      found = new Executable(this, prune(roots, isFed), fed, wanted);
      this.executables.set(key, found);
    }
    return found;
  }

  close(): void {
    this.closed = true;
    this.executables.clear();
  }

  throwIfClosed(): void {
    if (this.closed) throw new FailedPreconditionError('Session has been closed.');
  }
}

/** An abort signal that fires with DEADLINE_EXCEEDED after some milliseconds. */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DeadlineExceededError(`The run took longer than ${ms} ms.`)), ms);
  timer.unref();
  return controller.signal;
}
