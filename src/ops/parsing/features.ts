/** @file FixedLenFeature and its like: what to look for in examples, and the arguments that the ops take for it. */
import { type DType, int64, string } from '../../core/dtypes.ts';
import { intVector } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { onlyOptions } from '../../graph/options.ts';
import { SparseTensor } from '../../graph/sparseTensor.ts';
import { Tensor, type TensorLike } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { convertToTensor } from '../../op/convert.ts';
import { constant } from '../array/constant.ts';
import { reshape } from '../array/reshape.ts';
import type { RaggedTensor } from '../ragged/raggedTensor.ts';
import { sparseMerge } from '../sparse/sparseReorder.ts';
import { RaggedFeature, raggedOf } from './raggedFeature.ts';

/** What stands for a feature where it is missing, by itself or by name; without one that is an error. */
type DefaultValue = TensorLike | { readonly defaultValue?: TensorLike | undefined };

/** A feature of a fixed shape, which becomes a tensor. */
export class FixedLenFeature {
  readonly kind = 'FixedLenFeature';
  readonly defaultValue: TensorLike | undefined;
  constructor(
    readonly shape: readonly number[],
    readonly dtype: DType,
    defaultValue?: DefaultValue,
  ) {
    this.defaultValue = isOption(defaultValue)
      ? onlyOptions('tf.FixedLenFeature', defaultValue, 'defaultValue').defaultValue
      : defaultValue;
  }
}

const isOption = (value: DefaultValue | undefined): value is { readonly defaultValue?: TensorLike | undefined } =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** A feature of any length, which becomes a sparse tensor. */
export class VarLenFeature {
  readonly kind = 'VarLenFeature';
  constructor(readonly dtype: DType) {}
}

/** A feature of any number of steps, each of a fixed shape; it becomes a tensor, filled up to the longest of a batch. */
export class FixedLenSequenceFeature {
  readonly kind = 'FixedLenSequenceFeature';
  constructor(
    readonly shape: Dims,
    readonly dtype: DType,
    readonly options: {
      /** Whether examples may lack it. `tf.parseExample` demands true. */
      readonly allowMissing?: boolean | undefined;
      /** What the end of the shorter ones is filled with. */
      readonly defaultValue?: TensorLike | undefined;
    } = {},
  ) {
    onlyOptions('tf.FixedLenSequenceFeature', options, 'allowMissing', 'defaultValue');
  }
}

/** A sparse tensor whose positions and values are in two features (or more: one for each axis). */
export class SparseFeature {
  readonly kind = 'SparseFeature';
  constructor(
    readonly indexKey: string | readonly string[],
    readonly valueKey: string,
    readonly dtype: DType,
    /** The size of each axis. */
    readonly size: number | readonly number[],
    readonly options: { readonly alreadySorted?: boolean | undefined } = {},
  ) {
    onlyOptions('tf.SparseFeature', options, 'alreadySorted');
  }
}

export type AnyFeature = FixedLenFeature | VarLenFeature | FixedLenSequenceFeature | SparseFeature | RaggedFeature;
/** Features by name. */
export type FeatureMap = Readonly<Record<string, AnyFeature>>;

/** `new tf.FixedLenFeature(…)`. */
export const fixedLenFeature = (shape: readonly number[], dtype: DType, defaultValue?: DefaultValue): FixedLenFeature =>
  new FixedLenFeature(shape, dtype, defaultValue);
/** `new tf.VarLenFeature(…)`. */
export const varLenFeature = (dtype: DType): VarLenFeature => new VarLenFeature(dtype);
/** `new tf.FixedLenSequenceFeature(…)`. */
export const fixedLenSequenceFeature = (
  shape: Dims,
  dtype: DType,
  options: FixedLenSequenceFeature['options'] = {},
): FixedLenSequenceFeature => new FixedLenSequenceFeature(shape, dtype, options);
/** `new tf.SparseFeature(…)`. */
export const sparseFeature = (
  indexKey: string | readonly string[],
  valueKey: string,
  dtype: DType,
  size: number | readonly number[],
  options: SparseFeature['options'] = {},
): SparseFeature => new SparseFeature(indexKey, valueKey, dtype, size, options);

interface Dense {
  readonly key: string;
  readonly shape: Dims;
  readonly dtype: DType;
  /** Undefined without one; null where it may be missing and there is nothing to fill up with. */
  readonly defaultValue: TensorLike | undefined | null;
}

type Kind = new (...args: never[]) => AnyFeature;

/** The keys, types, shapes and defaults of features, in the order in which the ops take them. */
export class FeatureList {
  readonly dense: Dense[] = [];
  readonly sparse: { readonly key: string; readonly dtype: DType }[] = [];
  readonly ragged: { readonly key: string; readonly dtype: DType; readonly splits: RaggedFeature['splitType'] }[] = [];

  /** Takes features in the order of their names; only the kinds given are allowed. */
  constructor(features: FeatureMap | undefined, kinds: readonly Kind[]) {
    for (const key of Object.keys(features ?? {}).sort(byCodePoint)) {
      const feature = features![key]!;
      if (!kinds.some((kind) => feature instanceof kind))
        throw userError(`Unsupported ${feature.kind} for key '${key}'`);
      if (!feature.dtype) throw userError(`Missing type for feature ${key}.`);
      this.add(key, feature);
    }
    this.checkDisjoint('Dense and sparse', this.dense, this.sparse);
    this.checkDisjoint('Dense and ragged', this.dense, this.ragged);
    this.checkDisjoint('Ragged and sparse', this.ragged, this.sparse);
  }

  private checkDisjoint(names: string, some: readonly { key: string }[], others: readonly { key: string }[]): void {
    const both = some.find(({ key }) => others.some((other) => other.key === key));
    if (both) throw userError(`${names} keys must not intersect; '${both.key}' is asked for as both.`);
  }

  get isEmpty(): boolean {
    return this.dense.length + this.sparse.length + this.ragged.length === 0;
  }

  private add(key: string, feature: AnyFeature): void {
    const { dtype } = feature;
    if (feature instanceof VarLenFeature) this.addSparse(key, dtype);
    else if (feature instanceof RaggedFeature) {
      this.addRagged(feature.valueKey(key), dtype, feature.splitType);
      for (const partition of feature.partitions)
        if (partition.kind !== 'uniformRowLength') this.addRagged(partition.key, int64, feature.splitType);
    } else if (feature instanceof SparseFeature) {
      if (feature.indexKey.length === 0) throw userError(`Missing index_key for SparseFeature '${key}'.`);
      if (!feature.valueKey) throw userError(`Missing value_key for SparseFeature '${key}'.`);
      for (const index of [feature.indexKey].flat().sort(byCodePoint)) this.addSparse(index, int64);
      this.addSparse(feature.valueKey, dtype);
    } else {
      const { shape } = feature;
      if (shape === null || shape === undefined) throw userError(`Missing shape for feature ${key}.`);
      if (feature instanceof FixedLenFeature) {
        const sizes: Dims = shape;
        if (sizes[0] === null)
          throw userError(
            `First dimension of shape for feature ${key} unknown. Consider using FixedLenSequenceFeature.`,
          );
        if (sizes.includes(null))
          throw userError(
            `All dimensions of shape for feature ${key} need to be known but received [${sizes.map((n) => n ?? '?').join(', ')}].`,
          );
        this.dense.push({ key, shape, dtype, defaultValue: feature.defaultValue });
      } else {
        const { allowMissing, defaultValue } = feature.options;
        this.dense.push({ key, shape, dtype, defaultValue: defaultValue ?? (allowMissing ? null : undefined) });
      }
    }
  }

  private addSparse(key: string, dtype: DType): void {
    const other = this.sparse.find((s) => s.key === key);
    if (other && other.dtype !== dtype)
      throw userError(`Conflicting type ${other.dtype} vs ${dtype} for feature ${key}.`);
    if (!other) this.sparse.push({ key, dtype });
  }

  private addRagged(key: string, dtype: DType, splits: RaggedFeature['splitType']): void {
    const other = this.ragged.find((r) => r.key === key);
    if (other && other.dtype !== dtype)
      throw userError(`Conflicting type ${other.dtype} vs ${dtype} for feature ${key}.`);
    if (other && other.splits !== splits)
      throw userError(`Conflicting partition type ${other.splits} vs ${splits} for feature ${key}.`);
    if (!other) this.ragged.push({ key, dtype, splits });
  }

  /** The default of each dense feature, as a tensor. */
  defaults(): Tensor[] {
    return this.dense.map(({ key, shape, dtype, defaultValue }) => {
      const name = key.replace(/[^A-Za-z0-9_.\-/]/g, '_');
      if (shape !== null && shape.length > 0 && shape[0] === null) {
        if (defaultValue === undefined || defaultValue === null)
          return convertToTensor(dtype === string ? '' : 0, { dtype });
        // A scalar, so that whoever gives more than one value to fill up with hears of it.
        return reshape(convertToTensor(defaultValue, { dtype, name: `padding_${name}` }), []);
      }
      if (defaultValue === undefined || defaultValue === null) return constant([], dtype);
      if (defaultValue instanceof Tensor) return defaultValue;
      return reshape(
        convertToTensor(defaultValue, { dtype, name: `key_${name}` }),
        intVector(shape as readonly number[]),
      ); // only the first could be unknown
    });
  }
}

/** Python sorts by code point, JavaScript by UTF-16 unit. */
function byCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** What parsing gave, by key, as the features ask for it: those of sparse and ragged features are put together. */
export function combined(
  features: FeatureMap,
  parsed: Readonly<Record<string, Tensor | SparseTensor | RaggedTensor>>,
): Record<string, Tensor | SparseTensor | RaggedTensor> {
  const result: Record<string, Tensor | SparseTensor | RaggedTensor> = {};
  const sparse = (key: string): SparseTensor => {
    const found = parsed[key];
    if (!(found instanceof SparseTensor)) throw userError(`Feature '${key}' is not sparse.`);
    return found;
  };
  for (const key of Object.keys(features).sort(byCodePoint)) {
    const feature = features[key]!;
    if (feature instanceof RaggedFeature) {
      result[key] = raggedOf(key, feature, (name) => parsed[name] as Tensor | RaggedTensor); // parsed as ragged
      continue;
    }
    if (!(feature instanceof SparseFeature)) {
      result[key] = parsed[key]!;
      continue;
    }
    const { indexKey, valueKey, size, options } = feature;
    const ids = typeof indexKey === 'string' ? sparse(indexKey) : indexKey.map(sparse);
    result[key] = sparseMerge(ids, sparse(valueKey), size, options);
  }
  return result;
}
