/** @file Variable scopes: names, sharing and defaults for what `getVariable` makes. */

import { inspect } from 'node:util';
import { DType, float32 } from '../core/dtypes.ts';
import type { Dims } from '../core/shape.ts';
import { type Context, ContextKey, currentContext, enterContext, withContext } from '../graph/context.ts';
import type { Graph } from '../graph/graph.ts';
import { checkOptions, type OptionNames, withArgument } from '../graph/options.ts';
import { nameScope } from '../graph/scopes.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { GraphKeys, getCollection } from './collections.ts';
import type { PartitionedVariable, Partitioner } from './partitioned.ts';
import { setScopeDefault } from './resourceVariables.ts';
import type { Constraint, Variable } from './variable.ts';
import {
  AUTO_REUSE,
  type CustomGetter,
  type GetterOptions,
  type Regularizer,
  type Reuse,
  type VariableInitializer,
  VariableStore,
} from './variableStore.ts';

export interface GetVariableOptions extends Omit<GetterOptions, 'shape' | 'reuse'> {
  readonly customGetter?: CustomGetter | undefined;
}

/** What a scope sets for the variables made inside. */
export type ScopeDefaults = Omit<GetVariableOptions, 'trainable' | 'collections' | 'validateShape'>;

export interface VariableScopeOptions extends ScopeDefaults {
  /** True shares existing variables, `tf.AUTO_REUSE` makes what is missing; otherwise the outer scope decides. */
  readonly reuse?: Reuse | null | undefined;
  /** The name when none is given; it is made unique. */
  readonly defaultName?: string | undefined;
  /** False opens no name scope. */
  readonly auxiliaryNameScope?: boolean | undefined;
}

const scopeOptionNames: OptionNames<VariableScopeOptions> = {
  initializer: true,
  regularizer: true,
  cachingDevice: true,
  partitioner: true,
  customGetter: true,
  dtype: true,
  useResource: true,
  constraint: true,
  reuse: true,
  defaultName: true,
  auxiliaryNameScope: true,
};

const variableOptionNames: OptionNames<GetVariableOptions & { reuse: unknown }> = {
  dtype: true,
  initializer: true,
  regularizer: true,
  trainable: true,
  collections: true,
  cachingDevice: true,
  partitioner: true,
  validateShape: true,
  useResource: true,
  constraint: true,
  customGetter: true,
  reuse: true,
};

/** A variable scope, entered or to be entered again. */
export class VariableScope implements Disposable {
  private leave: (() => void) | undefined;
  initializer: VariableInitializer | undefined;
  regularizer: Regularizer | undefined;
  cachingDevice: string | undefined;
  partitioner: Partitioner | undefined;
  customGetter: CustomGetter | undefined;
  dtype: DType;
  useResource: boolean | undefined;
  constraint: Constraint | undefined;

  constructor(
    /** Whether variables are shared here. */
    public reuse: Reuse,
    readonly name: string,
    /** The name scope that was opened with it, with its trailing slash. */
    readonly originalNameScope: string,
    defaults: ScopeDefaults = {},
  ) {
    this.initializer = defaults.initializer;
    this.regularizer = defaults.regularizer;
    this.cachingDevice = defaults.cachingDevice;
    this.partitioner = defaults.partitioner;
    this.customGetter = defaults.customGetter;
    this.dtype = defaults.dtype ?? float32;
    this.useResource = defaults.useResource;
    this.constraint = defaults.constraint;
  }

  /** From now on variables in this scope are shared, not made. */
  reuseVariables(): void {
    this.reuse = true;
  }
  setInitializer(initializer: VariableInitializer | undefined): void {
    this.initializer = initializer;
  }
  setRegularizer(regularizer: Regularizer | undefined): void {
    this.regularizer = regularizer;
  }
  setCachingDevice(cachingDevice: string | undefined): void {
    this.cachingDevice = cachingDevice;
  }
  setPartitioner(partitioner: Partitioner | undefined): void {
    this.partitioner = partitioner;
  }
  setCustomGetter(customGetter: CustomGetter | undefined): void {
    this.customGetter = customGetter;
  }
  setDtype(dtype: DType): void {
    this.dtype = dtype;
  }
  setUseResource(useResource: boolean): void {
    this.useResource = useResource;
  }

  /** The members of a collection whose names begin with this scope's. */
  getCollection<T = unknown>(name: string): T[] {
    return getCollection(name, this.name === '' ? '' : `${this.name}/`);
  }
  globalVariables(): Variable[] {
    return this.getCollection(GraphKeys.GLOBAL_VARIABLES);
  }
  trainableVariables(): Variable[] {
    return this.getCollection(GraphKeys.TRAINABLE_VARIABLES);
  }
  localVariables(): Variable[] {
    return this.getCollection(GraphKeys.LOCAL_VARIABLES);
  }

  /** A variable of this scope, new or shared. */
  getVariable(
    name: string,
    shape?: Dims,
    { customGetter, ...options }: GetVariableOptions & { reuse?: Reuse | undefined } = {},
  ): Variable | PartitionedVariable {
    checkOptions('tf.getVariable', options, variableOptionNames);
    checkReuse(options.reuse);
    const fullName = this.name === '' ? name : `${this.name}/${name}`;
    return nameScope(null, () => {
      const { dtype, initializer } = options;
      if (dtype !== undefined && initializer !== undefined && typeof initializer !== 'function') {
        const own = convertToTensor(initializer).dtype;
        if (own !== dtype) throw userError(`Initializer type '${own}' and explicit dtype '${dtype}' don't match.`);
      }
      return storeOf(currentContext().graph).store.get(
        fullName,
        {
          ...options,
          shape,
          dtype: dtype ?? this.dtype,
          initializer: initializer ?? this.initializer,
          regularizer: options.regularizer ?? this.regularizer,
          cachingDevice: options.cachingDevice ?? this.cachingDevice,
          partitioner: options.partitioner ?? this.partitioner,
          useResource: options.useResource ?? this.useResource,
          constraint: options.constraint ?? this.constraint,
          reuse: options.reuse ?? this.reuse,
        },
        customGetter ?? this.customGetter,
      );
    });
  }

  /** Ends a scope that was entered with `using`. */
  [Symbol.dispose](): void {
    this.leave?.();
    this.leave = undefined;
  }
  /** Says how to end the scope. */
  entered(leave: () => void): this {
    this.leave = leave;
    return this;
  }
}

interface GraphScopes {
  readonly store: VariableStore;
  readonly root: VariableScope;
}
const byGraph = new WeakMap<Graph, GraphScopes>();

/** Functions share the variables of the graph around them. */
function storeOf({ outermost: graph }: Graph): GraphScopes {
  let found = byGraph.get(graph);
  if (!found) byGraph.set(graph, (found = { store: new VariableStore(), root: new VariableScope(false, '', '') }));
  return found;
}

/** The variables that `getVariable` has made in the default graph, by name. */
export function variablesByName(): ReadonlyMap<string, Variable> {
  return storeOf(currentContext().graph).store.all;
}

const current = new ContextKey<{ graph: Graph; scope: VariableScope }>('variable scope');

/** The variable scope in force. */
export function getVariableScope(): VariableScope {
  const entered = current.get();
  const { graph } = currentContext();
  return entered?.graph === graph.outermost ? entered.scope : storeOf(graph).root;
}

setScopeDefault(() => getVariableScope().useResource);

/**
 * A variable by name: made when it is new, shared when the scope says so.
 *
 * @example const w = tf.getVariable('weights', [784, 10], { initializer: tf.zerosInitializer() });
 */
export function getVariable(
  name: string,
  shape: Dims | undefined,
  options: GetVariableOptions & { partitioner: Partitioner },
): PartitionedVariable;
export function getVariable(
  name: string,
  options: ShapedOptions & { readonly partitioner: Partitioner },
): PartitionedVariable;
export function getVariable<const S extends Dims = Dims, D extends DType = DType>(
  name: string,
  shape?: S,
  options?: GetVariableOptions & { readonly dtype?: D | undefined },
): Variable<D, S>;
export function getVariable<const S extends Dims, D extends DType>(
  name: string,
  shape: S,
  dtype: D,
  options?: GetVariableOptions,
): Variable<D, S>;
export function getVariable<const S extends Dims = Dims, D extends DType = DType>(
  name: string,
  options: ShapedOptions<S> & { readonly dtype?: D | undefined },
): Variable<D, S>;
export function getVariable(
  name: string,
  given?: Dims | ShapedOptions,
  dtypeOrOptions: DType | ShapedOptions = {},
  last: ShapedOptions = {},
): Variable | PartitionedVariable {
  const behind = dtypeOrOptions instanceof DType ? withArgument('dtype', dtypeOrOptions, last) : dtypeOrOptions;
  const { shape, ...options } = withArgument('shape', given, behind);
  return getVariableScope().getVariable(name, shape ?? undefined, options);
}

interface ShapedOptions<S extends Dims = Dims> extends GetVariableOptions {
  /** May stand here, or alone as the second argument. */
  readonly shape?: S | undefined;
}

/** A variable that belongs to this process only: not trained, not saved, in the collection of local variables. */
export function getLocalVariable(name: string, shape?: Dims, options?: GetVariableOptions): Variable;
export function getLocalVariable(name: string, options: ShapedOptions): Variable;
export function getLocalVariable(name: string, given?: Dims | ShapedOptions, last: ShapedOptions = {}): Variable {
  const options = withArgument('shape', given, last);
  const collections = [...(options.collections ?? []), GraphKeys.LOCAL_VARIABLES];
  return getVariable(name, { ...options, trainable: false, collections });
}

/** No penalty, for use where a scope's regularizer must not apply. */
export function noRegularizer(_value: unknown): null {
  return null;
}

// Entering.
/** A scope ready to be entered: the change of context, and what to do at its end. */
interface Opened {
  readonly scope: VariableScope;
  readonly change: Partial<Context>;
  readonly leave: () => void;
}

function open(nameOrScope: string | VariableScope | null, options: VariableScopeOptions): Opened {
  const { defaultName, auxiliaryNameScope = true } = options;
  checkReuse(options.reuse);
  const reuse = options.reuse === false ? undefined : (options.reuse ?? undefined);
  const context = currentContext();
  const { graph } = context;
  const { store } = storeOf(graph);
  const outer = getVariableScope();
  const label = nameOrScope instanceof VariableScope ? nameOrScope.name.split('/').at(-1)! : nameOrScope;
  if (label === null && defaultName === undefined)
    throw userError('If defaultName is not given then the name or scope is required');
  if (label === null && reuse !== undefined)
    throw userError('reuse cannot be used without a name or scope: a default name is a new one each time.');
  const wanted = label ?? defaultName!;
  const here = context.scope === '' ? '' : `${context.scope}/`;
  const entersNameScope = auxiliaryNameScope && wanted !== '';
  const nameScopeLabel = entersNameScope ? nameScope(wanted, (inner) => inner) : here;
  const scope =
    nameOrScope instanceof VariableScope
      ? reentered(nameOrScope, reuse, options)
      : inner(outer, label ?? uniqueDefault(store, outer, wanted), nameScopeLabel, reuse, options);
  countScope(store, scope.name);
  const counts = new Map(store.scopeCounts);
  const leave = () => {
    if (nameOrScope instanceof VariableScope) store.scopeCounts = counts;
    else closeSubscopes(store, scope.name);
  };
  const change = {
    scope: nameScopeLabel === '' ? '' : nameScopeLabel.slice(0, -1),
    ...current.change({ graph: graph.outermost, scope }),
  };
  return { scope, change, leave };
}

/** Other spellings, such as 'True', would pass for sharing. */
function checkReuse(reuse: unknown): void {
  if (reuse == null || typeof reuse === 'boolean' || reuse === AUTO_REUSE) return;
  throw userError(`reuse must be true, false or tf.AUTO_REUSE, but got ${inspect(reuse)}.`);
}

/** A custom getter inside the one of the scope outside. */
function nested(custom: CustomGetter | undefined, outer: CustomGetter | undefined): CustomGetter | undefined {
  if (!custom || !outer) return custom ?? outer;
  return (getter, name, options) =>
    custom((innerName, innerOptions) => outer(getter, innerName, innerOptions), name, options);
}

function defaultsFrom(base: VariableScope, options: VariableScopeOptions): ScopeDefaults {
  return {
    initializer: options.initializer ?? base.initializer,
    regularizer: options.regularizer ?? base.regularizer,
    cachingDevice: options.cachingDevice ?? base.cachingDevice,
    partitioner: options.partitioner ?? base.partitioner,
    customGetter: nested(options.customGetter, base.customGetter),
    dtype: options.dtype ?? base.dtype,
    useResource: options.useResource ?? base.useResource,
    constraint: options.constraint,
  };
}

function reentered(scope: VariableScope, reuse: Reuse | undefined, options: VariableScopeOptions): VariableScope {
  return new VariableScope(reuse ?? scope.reuse, scope.name, scope.originalNameScope, defaultsFrom(scope, options));
}

function inner(
  outer: VariableScope,
  name: string,
  nameScopeLabel: string,
  reuse: Reuse | undefined,
  options: VariableScopeOptions,
): VariableScope {
  const fullName = outer.name === '' ? name : `${outer.name}/${name}`;
  return new VariableScope(reuse ?? outer.reuse, fullName, nameScopeLabel, defaultsFrom(outer, options));
}

const countOf = (store: VariableStore, name: string) => store.scopeCounts.get(name) ?? 0;

function countScope(store: VariableStore, name: string): void {
  store.scopeCounts.set(name, countOf(store, name) + 1);
}

function closeSubscopes(store: VariableStore, name: string): void {
  for (const key of store.scopeCounts.keys()) if (key.startsWith(`${name}/`)) store.scopeCounts.set(key, 0);
}

/** The default name, with a number when this scope has opened it before. */
function uniqueDefault(store: VariableStore, outer: VariableScope, prefix: string): string {
  const full = outer.name === '' ? prefix : `${outer.name}/${prefix}`;
  if (countOf(store, full) === 0) return prefix;
  let i = 1;
  while (countOf(store, `${full}_${i}`) > 0) i++;
  return `${prefix}_${i}`;
}

/** Calls `after` when `body` is done, also when it is asynchronous. */
function finishing<T>(body: () => T, after: () => void): T {
  let result: T;
  try {
    result = body();
  } catch (error) {
    after();
    throw error;
  }
  if (result instanceof Promise) return result.finally(after) as T; // the same promise's value
  after();
  return result;
}

type Body<T> = (scope: VariableScope) => T;

/**
 * Opens a variable scope, and a name scope of the same name, for `body` or until the end of a `using` block.
 *
 * @example tf.variableScope('layer1', () => tf.getVariable('w', [2, 2])).name // 'layer1/w:0'
 */
export function variableScope<T>(nameOrScope: string | VariableScope | null, body: Body<T>): T;
export function variableScope<T>(
  nameOrScope: string | VariableScope | null,
  options: VariableScopeOptions,
  body: Body<T>,
): T;
export function variableScope(
  nameOrScope: string | VariableScope | null,
  options?: VariableScopeOptions,
): VariableScope;
export function variableScope<T>(
  nameOrScope: string | VariableScope | null,
  optionsOrBody: VariableScopeOptions | Body<T> = {},
  lastBody?: Body<T>,
): T | VariableScope {
  const options = typeof optionsOrBody === 'function' ? {} : optionsOrBody;
  const body = typeof optionsOrBody === 'function' ? optionsOrBody : lastBody;
  checkOptions('tf.variableScope', options, scopeOptionNames);
  const { scope, change, leave } = open(nameOrScope, options);
  if (body) return finishing(() => withContext(change, () => body(scope)), leave);
  const restore = enterContext(change);
  return scope.entered(() => {
    leave();
    restore();
  });
}
