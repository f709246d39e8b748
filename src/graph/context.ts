/** @file The building context: default graph, scopes and frames that apply to operations made now, in this async flow. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { CallSite } from './callSite.ts';
import type { Graph } from './graph.ts';
import type { Operation } from './operation.ts';

/** A `controlDependencies` block: its operations, and the operations made inside it so far. */
export interface ControlFrame {
  readonly inputs: readonly Operation[];
  readonly seen: Set<Operation>;
}

/** Chooses a device for an operation, given what the enclosing frames chose. */
export type DeviceFunction = (op: Operation) => string;

/** What surrounds the operation being built. Records are immutable; entering a scope makes a new one. */
export interface Context {
  readonly graph: Graph;
  /** Current name scope, without the trailing slash. */
  readonly scope: string;
  readonly control: readonly ControlFrame[];
  /** Device specs or functions, outermost first. `null` clears the frames outside it. */
  readonly devices: readonly (string | DeviceFunction | null)[];
  /** Names of operations to be placed with; the innermost frame wins. */
  readonly colocation: readonly string[];
  readonly container: string;
  /** Op type to the name of a registered gradient that replaces the usual one. */
  readonly gradientOverrides: Readonly<Record<string, string>>;
  /** Where the user asked for a group of operations, such as gradients; each remembers its own place otherwise. */
  readonly site?: CallSite | undefined;
  /** The context that was left when this graph became the default: going back to its graph goes back to its scopes. */
  readonly around?: Context | undefined;
  /** What other layers keep in the context; see `ContextKey`. */
  readonly extras: ReadonlyMap<symbol, unknown>;
}

const storage = new AsyncLocalStorage<Context>();
let base: (() => Context) | undefined;

/** Tells which context applies where no scope was entered. Set once by the default-graph module. */
export function setBaseContext(make: () => Context): void {
  base = make;
}

export function currentContext(): Context {
  const context = storage.getStore() ?? base?.();
  if (context === undefined) throw new Error('the base context is set when the graph module loads');
  return context;
}

/** Runs `body` in a changed context; the change follows the async flow that `body` starts. */
export function withContext<T, A extends unknown[]>(change: Partial<Context>, body: (...args: A) => T, ...args: A): T {
  return storage.run({ ...currentContext(), ...change }, body, ...args);
}

/** Enters a changed context until the returned function is called: what `using` needs. */
export function enterContext(change: Partial<Context>): () => void {
  const before = storage.getStore();
  storage.enterWith({ ...currentContext(), ...change });
  // Where nothing was entered before, nothing stays entered: the base context may be another by then.
  return () => storage.enterWith(before as Context); // Node takes undefined for none
}

/** A scope that was entered for a `using` declaration. */
export class EnteredScope<T> implements Disposable {
  constructor(
    readonly value: T,
    private readonly leave: () => void,
  ) {}
  [Symbol.dispose](): void {
    this.leave();
  }
}

/** A slot for context that other layers define (variable scope, default session …). */
export class ContextKey<T> {
  private readonly key: symbol;
  constructor(name: string) {
    this.key = Symbol(name);
  }
  get(): T | undefined {
    return currentContext().extras.get(this.key) as T | undefined; // only `change` writes this key
  }
  change(value: T | undefined): Partial<Context> {
    return { extras: new Map(currentContext().extras).set(this.key, value) };
  }
}
