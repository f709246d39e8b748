/** @file The variables that `getVariable` has made in a graph, by full name, and how new ones are made. */
import { bool, type DType, string } from '../core/dtypes.ts';
import { compatible, type Dims, isFullyDefined, mergeShapes, type Shape, showTuple } from '../core/shape.ts';
import { colocateWith, nameScope } from '../graph/scopes.ts';
import { Tensor, type TensorLike } from '../graph/tensor.ts';
import { userError } from '../graph/userError.ts';
import { convertToTensor } from '../op/convert.ts';
import { slice } from '../ops/array/slice.ts';
import { addToCollection, GraphKeys } from './collections.ts';
import {
  glorotUniformInitializer,
  type InitializerFunction,
  type PartitionInfo,
  zerosInitializer,
} from './initializers.ts';
import { callPartitioner, PartitionedVariable, type Partitioner, slicesOf } from './partitioned.ts';
import { Variable, type VariableOptions } from './variable.ts';

/** In a scope with this `reuse`, variables are made when they do not exist and shared when they do. */
export const AUTO_REUSE: unique symbol = Symbol('AUTO_REUSE');
export type Reuse = boolean | typeof AUTO_REUSE;

/** A penalty on a variable's value, or `null` for none. */
export type Regularizer = (value: Variable) => Tensor | null;
/** A function of the shape, a function of nothing, or the value itself. */
export type VariableInitializer = InitializerFunction | (() => TensorLike) | TensorLike;

/** Everything that decides what `getVariable` gives. */
export interface GetterOptions extends Omit<VariableOptions, 'name'> {
  readonly initializer?: VariableInitializer | undefined;
  readonly regularizer?: Regularizer | undefined;
  readonly reuse?: Reuse | undefined;
  readonly partitioner?: Partitioner | undefined;
}

export type Getter = (name: string, options: GetterOptions) => Variable | PartitionedVariable;
/** Stands between `getVariable` and the store: may change names and options, or what is given back. */
export type CustomGetter = (getter: Getter, name: string, options: GetterOptions) => Variable | PartitionedVariable;

const isFunction = (x: VariableInitializer | undefined): x is InitializerFunction => typeof x === 'function';

/** The variables of one graph. */
export class VariableStore {
  private readonly variables = new Map<string, Variable>();
  private readonly partitioned = new Map<string, PartitionedVariable>();

  /** All variables by name; slices of partitioned ones have names of their own. */
  get all(): ReadonlyMap<string, Variable> {
    return this.variables;
  }
  /** How often each variable scope was opened, for unique default names. */
  scopeCounts = new Map<string, number>();

  get(
    name: string,
    options: GetterOptions & { dtype: DType },
    customGetter?: CustomGetter | undefined,
  ): Variable | PartitionedVariable {
    const getter: Getter = (fullName, given) => this.find(fullName, { ...given, dtype: given.dtype ?? options.dtype });
    return customGetter ? customGetter(getter, name, options) : getter(name, options);
  }

  private find(name: string, options: GetterOptions & { dtype: DType }): Variable | PartitionedVariable {
    const { partitioner, shape, reuse } = options;
    if (partitioner && shape?.length !== 0) return nameScope(null, () => this.partition(name, options, partitioner));
    const known = reuse === true ? this.partitioned.get(name) : undefined;
    if (known) return known;
    if (this.variables.has(`${name}/part_0`))
      throw userError(
        `No partitioner was provided, but a partitioned version of the variable was found: ${name}/part_0. Perhaps a variable of the same name was already created with partitioning?`,
      );
    return this.single(name, options);
  }

  private single(name: string, options: GetterOptions & { dtype: DType }, partitionInfo?: PartitionInfo): Variable {
    const { shape, dtype, reuse } = options;
    const { initializer } = options;
    if (shape != null && initializer !== undefined && !isFunction(initializer))
      throw userError('If initializer is a constant, do not specify shape.');
    const found = this.variables.get(name);
    if (found) return shared(found, name, options);
    if (reuse === true)
      throw userError(
        `Variable ${name} does not exist, or was not created with tf.getVariable(). Did you mean { reuse: tf.AUTO_REUSE } in tf.variableScope?`,
      );
    if (initializer === undefined && shape == null)
      throw userError(`Variable ${name} did not get an initializer, so its \`shape\` argument must be specified.`);
    const start = startOf(initializer ?? defaultInitializer(name, dtype), shape ?? null, dtype, partitionInfo);
    const variable = new Variable(start.value, {
      name,
      trainable: options.trainable,
      collections: options.collections,
      cachingDevice: options.cachingDevice,
      dtype: start.dtype,
      validateShape: options.validateShape,
      constraint: options.constraint,
      useResource: options.useResource,
      ...(shape == null ? {} : { shape }),
    });
    this.variables.set(name, variable);
    if (options.regularizer) regularize(variable, name, options.regularizer);
    return variable;
  }

  private partition(
    name: string,
    options: GetterOptions & { dtype: DType },
    partitioner: Partitioner,
  ): PartitionedVariable {
    if (this.variables.has(name))
      throw userError(
        `A partitioner was provided, but an unpartitioned version of the variable was found: ${name}.  Perhaps a variable of the same name was already created without partitioning?`,
      );
    const { initializer, dtype, reuse } = options;
    const fromValue = initializer instanceof Tensor ? initializer.shape : null;
    const shape = mergeShapes(options.shape ?? null, fromValue);
    if (!isFullyDefined(shape))
      throw userError(
        `Shape of a new partitioned variable must be fully defined, but instead was ${showTuple(shape)}.`,
      );
    const partitions = callPartitioner(partitioner, shape, dtype);
    const found = this.partitioned.get(name);
    if (found) return sharedParts(found, name, { shape, dtype, partitions, reuse });
    if (reuse === true)
      throw userError(
        `PartitionedVariable ${name} does not exist, or was not created with tf.getVariable(). Did you mean { reuse: tf.AUTO_REUSE } in tf.variableScope?`,
      );
    const slices = slicesOf(shape, partitions).map((part, i) => {
      const partName = `${name}/part_${i}`;
      const start = nameScope(`${partName}/PartitionedInitializer`, () =>
        initializer === undefined || isFunction(initializer)
          ? { initializer, shape: part.shape }
          : { initializer: slice(convertToTensor(initializer), part.offset, part.shape), shape: undefined },
      );
      const info = { fullShape: shape, varOffset: part.offset };
      const variable = nameScope(null, () => this.single(partName, { ...options, ...start }, info));
      variable.saveSliceInfo = { fullName: name, fullShape: shape, varOffset: part.offset, varShape: part.shape };
      return variable;
    });
    const whole = new PartitionedVariable(name, shape, dtype, slices, partitions);
    this.partitioned.set(name, whole);
    return whole;
  }
}

/** The first value of a variable, not yet built, and the type it is converted to. */
function startOf(
  initializer: VariableInitializer,
  shape: Dims,
  dtype: DType,
  partitionInfo: PartitionInfo | undefined,
): { value: TensorLike | (() => TensorLike); dtype: DType | undefined } {
  if (!isFunction(initializer)) return { value: initializer, dtype: undefined };
  if (isFullyDefined(shape))
    return { value: () => callInitializer(initializer, shape, { dtype, partitionInfo }), dtype };
  if (initializer.length === 0 && shape === null) return { value: initializer as () => TensorLike, dtype: undefined };
  throw userError(
    'The initializer passed is not valid. It should be a callable with no arguments and the shape should not be provided or an instance of tf.initializers.* and shape should be fully defined.',
  );
}

/** `tf.zerosInitializer` given without calling it stands for `tf.zerosInitializer()`. */
function callInitializer(
  initializer: InitializerFunction,
  shape: Shape,
  options: { dtype: DType; partitionInfo: PartitionInfo | undefined },
): TensorLike {
  const value: unknown = initializer(shape, options);
  if (typeof value !== 'function') return value as TensorLike; // what initializers give
  const made: unknown = Reflect.apply(initializer, undefined, []);
  if (typeof made !== 'function') throw userError('The initializer passed is not valid.');
  return Reflect.apply(made, undefined, [shape, options]);
}

function defaultInitializer(name: string, dtype: DType): InitializerFunction {
  if (dtype.isFloating) return glorotUniformInitializer();
  if (dtype.isInteger || dtype === bool || dtype === string) return zerosInitializer();
  throw userError(`An initializer for variable ${name} of ${dtype} is required`);
}

/** An existing variable, when it may be shared and fits. */
function shared(found: Variable, name: string, { reuse, shape, dtype }: GetterOptions & { dtype: DType }): Variable {
  if (reuse === false || reuse === undefined) {
    const where = found.op.createdAt;
    const place = where === undefined ? '' : ` Originally defined at: ${where}`;
    throw userError(
      `Variable ${name} already exists, disallowed. Did you mean { reuse: true } or { reuse: tf.AUTO_REUSE } in tf.variableScope?${place}`,
    );
  }
  if (shape != null && !compatible(shape, found.shape))
    throw userError(
      `Trying to share variable ${name}, but specified shape ${showTuple(shape)} and found shape ${showTuple(found.shape)}.`,
    );
  if (dtype !== found.dtype)
    throw userError(`Trying to share variable ${name}, but specified dtype ${dtype} and found dtype ${found.dtype}.`);
  return found;
}

function sharedParts(
  found: PartitionedVariable,
  name: string,
  wanted: { shape: Shape; dtype: DType; partitions: readonly number[]; reuse: Reuse | undefined },
): PartitionedVariable {
  if (wanted.reuse === false || wanted.reuse === undefined)
    throw userError(
      `Partitioned variable with name ${name} already exists. Did you mean { reuse: true } or { reuse: tf.AUTO_REUSE } in tf.variableScope?`,
    );
  const refuse = (what: string, specified: string, existing: string): never => {
    throw userError(
      `Trying to reuse partitioned variable ${name}, but specified ${what} ${specified} and found ${what} ${existing}.`,
    );
  };
  if (!compatible(wanted.shape, found.shape)) refuse('shape', showTuple(wanted.shape), showTuple(found.shape));
  if (wanted.dtype !== found.dtype) refuse('dtype', `${wanted.dtype}`, `${found.dtype}`);
  if (wanted.partitions.join() !== found.partitions.join())
    refuse('partitions', `[${wanted.partitions}]`, `[${found.partitions}]`);
  return found;
}

/** Adds the penalty to the collection of regularization losses. It is built twice, as Python does, to see if there is one. */
function regularize(variable: Variable, name: string, regularizer: Regularizer): void {
  if (regularizer(variable) === null) return;
  const loss = colocateWith(variable, () => nameScope(`${name}/Regularizer/`, () => regularizer(variable)));
  addToCollection(GraphKeys.REGULARIZATION_LOSSES, loss);
}
