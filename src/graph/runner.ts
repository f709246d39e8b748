/** @file Runner: what code that only builds graphs may ask of a session, and the one to use when none is given. */
import type { TypedArray } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import type { Graph } from './graph.ts';
import type { Operation } from './operation.ts';
import type { Literal, Tensor } from './tensor.ts';

/** Something that runs graphs. Every session is one. */
export interface Runner {
  run(
    fetches: Tensor | Operation | readonly (Tensor | Operation)[],
    feeds?: ReadonlyMap<Tensor, FeedLike> | readonly (readonly [Tensor, FeedLike])[],
  ): Promise<unknown>;
}
/** A value that can be fed. */
export type FeedLike = NDArray | TypedArray | Literal;

/** The values of some tensors, in order. */
export async function evaluate(
  runner: Runner,
  tensors: readonly Tensor[],
  feeds: readonly (readonly [Tensor, FeedLike])[] = [],
): Promise<readonly NDArray[]> {
  return (await runner.run(tensors, feeds)) as readonly NDArray[]; // a list of tensors gives a list of arrays
}

let findDefault: () => Runner | undefined = () => undefined;
/** Tells where the default session is. Called once when sessions load. */
export function setDefaultRunner(find: () => Runner | undefined): void {
  findDefault = find;
}

/** The runner given, or else the default session. */
export function runnerFor(what: string, given?: Runner): Runner {
  const runner = given ?? findDefault();
  if (runner) return runner;
  throw new InvalidArgumentError(
    `Cannot ${what}: No default session is registered. Use sess.asDefault(() => …), new tf.InteractiveSession(), or pass an explicit session.`,
  );
}

/** A session of one's own. */
type OwnRunner = Runner & { close(): void };
let openRunner: ((graph: Graph) => OwnRunner) | undefined;
/** Tells how sessions are made. Called once when sessions load. */
export function setRunnerFactory(open: (graph: Graph) => OwnRunner): void {
  openRunner = open;
}

/** The default session if it runs this graph, else a new one; `close` ends only a new one. */
export function sessionFor(graph: Graph): { readonly runner: Runner; close(): void } {
  const current = findDefault();
  if (current && 'graph' in current && current.graph === graph) return { runner: current, close: () => {} };
  if (!openRunner) throw new InvalidArgumentError('There is nothing here that runs graphs: import tensorloom first.');
  const own = openRunner(graph);
  return { runner: own, close: () => own.close() };
}
