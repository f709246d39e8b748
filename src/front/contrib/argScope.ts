/** @file argScope: default options for functions called inside a scope. */
import { ContextKey, withContext } from '../../graph/context.ts';
import { userError } from '../../graph/userError.ts';

/** A function whose last argument is an object of options. Every function is one of `never`. */
type Configurable = (...args: never[]) => unknown;
type OptionsOf<F> = F extends (...args: infer A) => unknown
  ? Required<A> extends readonly [...unknown[], infer O]
    ? O
    : never
  : never;
/** Options that some of the functions have. */
type Defaults<F> = F extends unknown ? Partial<OptionsOf<F>> : never;

/** The defaults of each function, as `argScope` hands them to its body. */
export type ArgScope = ReadonlyMap<Configurable, object>;

const scopes = new ContextKey<ArgScope>('argScope');
const registered = new WeakSet<Configurable>();

/**
 * The function, such that `argScope` can give it default options. Its options are the argument after the required ones.
 *
 * @example const block = tf.contrib.framework.addArgScope((x, width, options = {}) => tf.layers.dense(x, width, options));
 */
export function addArgScope<F extends Configurable>(fn: F): F {
  const position = fn.length;
  const scoped: Configurable = (...args) => {
    const defaults = scopes.get()?.get(scoped);
    if (!defaults) return fn(...args);
    const given = Object.entries((args[position] ?? {}) as object).filter(([, value]) => value !== undefined); // options
    const options = { ...defaults, ...Object.fromEntries(given) };
    return fn(...args.slice(0, position), options as never); // options are what it takes there
  };
  Object.defineProperty(scoped, 'name', { value: fn.name });
  registered.add(scoped);
  return scoped as F; // it takes and gives what `fn` does
}

/** Whether `argScope` knows a function. */
export function hasArgScope(fn: (...args: never[]) => unknown): boolean {
  return registered.has(fn);
}

/**
 * Runs `body` with default options for functions; scopes inside add to them, and what a call gives comes first. The body gets
 * the scope, which may be entered again later.
 *
 * @example
 * const { conv2d } = tf.contrib.layers;
 * tf.contrib.framework.argScope([conv2d], { padding: 'VALID' }, () => conv2d(images, 32, 5));
 */
export function argScope<F extends Configurable, T>(
  functions: readonly F[],
  defaults: Defaults<F>,
  body: (scope: ArgScope) => T,
): T;
export function argScope<T>(scope: ArgScope, body: (scope: ArgScope) => T): T;
export function argScope<T>(
  what: readonly Configurable[] | ArgScope,
  defaultsOrBody: object | ((scope: ArgScope) => T),
  last?: (scope: ArgScope) => T,
): T {
  const entered = Array.isArray(what) ? extended(what, defaultsOrBody) : (what as ArgScope); // the second form
  const body = last ?? (defaultsOrBody as (scope: ArgScope) => T); // the second form has no defaults
  return withContext(scopes.change(entered), () => body(entered));
}

/** The defaults of the scope outside, and more for some functions. */
function extended(functions: readonly Configurable[], defaults: object): ArgScope {
  const scope = new Map(scopes.get());
  for (const fn of functions) {
    if (!registered.has(fn))
      throw userError(
        `${fn?.name || String(fn)} takes no default options. Make it with tf.contrib.framework.addArgScope.`,
      );
    scope.set(fn, { ...scope.get(fn), ...defaults });
  }
  return scope;
}

/** The default options of a function in the present scope. */
export function currentArgScope(): ArgScope {
  return scopes.get() ?? new Map();
}
