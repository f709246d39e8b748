/** @file A run in pieces: feeds arrive and fetches leave one call at a time, and every node still runs at most once. */
import { AbortedError, InvalidArgumentError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Engine } from './engine.ts';
import { type Port, prune, type RunNode } from './runGraph.ts';

const nameOf = ({ node, index }: Port) => `${node.name}:${index}`;

/** The state between the pieces: what was fed and computed so far. */
export class PartialRun {
  /** Values fed or computed so far, by tensor name. */
  private readonly values = new Map<string, NDArray>();
  private readonly done = new Set<RunNode>();
  private readonly openFeeds: Set<string>;
  private readonly openFetches: Set<string>;
  private readonly openTargets: Set<string>;
  private failed = false;
  /** Names of all feeds, fetches and targets of the run. */
  private readonly announced: ReadonlySet<string>;
  /** All nodes of the announced run. */
  private readonly nodes: ReadonlySet<RunNode>;

  constructor(
    private readonly engine: Engine,
    feeds: readonly string[],
    fetches: readonly string[],
    targets: readonly string[],
  ) {
    this.openFeeds = new Set(feeds);
    this.openFetches = new Set(fetches);
    this.openTargets = new Set(targets);
    if (fetches.length + targets.length === 0)
      throw new InvalidArgumentError('Must specify at least one target to fetch or execute.');
    this.nodes = new Set(engine.prepare(feeds, fetches, targets).source);
    this.announced = new Set([...feeds, ...fetches, ...targets]);
  }

  /** Whether every announced feed and fetch has been used. */
  get isFinished(): boolean {
    return this.openFeeds.size === 0 && this.openFetches.size === 0 && this.openTargets.size === 0;
  }

  /** Feeds and fetches some more. */
  async run(
    feeds: ReadonlyMap<string, NDArray>,
    fetches: readonly string[],
    targets: readonly string[],
  ): Promise<NDArray[]> {
    if (this.failed) throw new AbortedError('This partial run has failed before; set up a new one.');
    this.check(feeds, fetches, targets);
    for (const [name, value] of feeds) {
      this.values.set(name, value);
      this.openFeeds.delete(name);
    }
    for (const name of fetches) this.openFetches.delete(name);
    for (const name of targets) this.openTargets.delete(name);
    try {
      await this.compute(fetches, targets);
    } catch (error) {
      this.failed = true;
      throw error;
    }
    return fetches.map((name) => this.values.get(name)!.copy());
  }

  private async compute(fetches: readonly string[], targets: readonly string[]): Promise<void> {
    const { graph } = this.engine;
    const isKnown = (p: Port) => this.values.has(nameOf(p));
    const wanted = fetches.filter((name) => !this.values.has(name)).map((name) => graph.port(name, 'FetchOutputs'));
    const roots = [...wanted.map((p) => p.node), ...targets.map((name) => graph.target(name))].filter(
      (n) => !this.done.has(n),
    );
    const nodes = prune(roots, isKnown).filter((n) => !this.done.has(n));
    for (const node of nodes)
      for (const port of node.inputs)
        if (this.openFeeds.has(nameOf(port)))
          throw new InvalidArgumentError(
            `Fetch ${fetches[0] ?? targets[0]} can't be computed from the feeds that have been fed so far.`,
          );
    // What later pieces read from nodes that run now must be kept, since nodes do not run twice.
    const now = new Set(nodes);
    const later = [...this.nodes].filter((n) => !now.has(n) && !this.done.has(n));
    const crossing = new Map<string, Port>();
    for (const node of later)
      for (const p of node.inputs) if (now.has(p.node) && !isKnown(p)) crossing.set(nameOf(p), p);
    for (const p of wanted) crossing.set(nameOf(p), p);
    for (const name of this.openFetches) {
      const p = graph.port(name, 'FetchOutputs');
      if (now.has(p.node)) crossing.set(name, p);
    }
    const known = new Map<string, NDArray>();
    for (const node of nodes)
      for (const p of node.inputs) if (isKnown(p)) known.set(nameOf(p), this.values.get(nameOf(p))!);
    const names = [...crossing.keys()];
    const executable = this.engine.prepareNodes(nodes, [...known.keys()], names);
    const results = await executable.run([...known.values()]);
    for (const [i, name] of names.entries()) this.values.set(name, results[i]!);
    for (const node of nodes) this.done.add(node);
  }

  private check(feeds: ReadonlyMap<string, NDArray>, fetches: readonly string[], targets: readonly string[]): void {
    const refuse = (what: string, name: string, done: string) => {
      throw new InvalidArgumentError(
        this.announced.has(name)
          ? `The ${what} ${name} has already been ${done}.`
          : `The ${what} ${name} was not specified in partial_run_setup.`,
      );
    };
    for (const name of feeds.keys()) if (!this.openFeeds.has(name)) refuse('feed', name, 'fed');
    for (const name of fetches) if (!this.openFetches.has(name)) refuse('fetch', name, 'fetched');
    for (const name of targets) if (!this.openTargets.has(name)) refuse('target', name, 'executed');
  }
}
