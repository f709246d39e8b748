/** @file tf.train.Example and its parts: training data that is built, written to records and read back. */
import { InvalidArgumentError } from '../core/errors.ts';
import { knownOptions } from '../core/optionNames.ts';
import {
  BytesListProto,
  ExampleProto,
  FeatureListProto,
  FeatureListsProto,
  FeatureProto,
  FeaturesProto,
  FloatListProto,
  Int64ListProto,
  SequenceExampleProto,
} from '../proto/example.ts';
import type { Init, Message } from '../proto/message.ts';

const encoder = new TextEncoder();

/** What every part can do: write itself as TensorFlow does. */
abstract class Part<T> {
  /** The message that this part is. */
  protected abstract readonly message: Message<T>;
  /** The part as a record of its message. */
  abstract toProto(): Init<T>;

  /** The bytes, as Python's `SerializeToString` gives them. */
  serializeToString(): Uint8Array {
    return this.message.encode(this.toProto());
  }
  /** The same as `serializeToString`. */
  serialize(): Uint8Array {
    return this.serializeToString();
  }
}

/** Strings of bytes; text is UTF-8. */
export class BytesList extends Part<BytesListProto> {
  readonly value: readonly Uint8Array[];
  protected get message() {
    return BytesListProto;
  }
  constructor(init: { value?: readonly (Uint8Array | string)[] } = {}) {
    super();
    const { value = [] } = knownOptions('tf.train.BytesList', init, ['value']);
    this.value = value.map((x) => (typeof x === 'string' ? encoder.encode(x) : x));
  }
  toProto(): BytesListProto {
    return { value: this.value };
  }
  static fromString(bytes: Uint8Array): BytesList {
    return new BytesList(BytesListProto.decode(bytes));
  }
}

/** Numbers of type float32. */
export class FloatList extends Part<FloatListProto> {
  readonly value: readonly number[];
  protected get message() {
    return FloatListProto;
  }
  constructor(init: { value?: Iterable<number> } = {}) {
    super();
    const { value = [] } = knownOptions('tf.train.FloatList', init, ['value']);
    this.value = Array.from(value, Math.fround);
  }
  toProto(): FloatListProto {
    return { value: this.value };
  }
  static fromString(bytes: Uint8Array): FloatList {
    return new FloatList(FloatListProto.decode(bytes));
  }
}

/** Whole numbers; those beyond 2^53 are bigints. */
export class Int64List extends Part<Int64ListProto> {
  readonly value: readonly (number | bigint)[];
  protected get message() {
    return Int64ListProto;
  }
  constructor(init: { value?: Iterable<number | bigint | boolean> } = {}) {
    super();
    const { value = [] } = knownOptions('tf.train.Int64List', init, ['value']);
    this.value = Array.from(value, wholeNumber);
  }
  toProto(): Int64ListProto {
    return { value: this.value.map(BigInt) };
  }
  static fromString(bytes: Uint8Array): Int64List {
    return new Int64List(Int64ListProto.decode(bytes));
  }
}

function wholeNumber(x: number | bigint | boolean): number | bigint {
  if (typeof x === 'boolean') return Number(x);
  if (typeof x === 'bigint') {
    if (BigInt.asIntN(64, x) !== x) throw new InvalidArgumentError(`${x} does not fit in an Int64List`);
    return Number.isSafeInteger(Number(x)) ? Number(x) : x;
  }
  if (!Number.isSafeInteger(x))
    throw new InvalidArgumentError(`${x} is not a whole number, so it cannot be in an Int64List; use a FloatList`);
  return x;
}

type BytesListInit = BytesList | { value?: readonly (Uint8Array | string)[] };
type FloatListInit = FloatList | { value?: Iterable<number> };
type Int64ListInit = Int64List | { value?: Iterable<number | bigint | boolean> };
export type FeatureInit =
  | Feature
  | {
      bytesList?: BytesListInit | undefined;
      floatList?: FloatListInit | undefined;
      int64List?: Int64ListInit | undefined;
    };

const listNames = ['bytesList', 'floatList', 'int64List'] as const;

/** One named value: a list of one of three kinds, or nothing. */
export class Feature extends Part<FeatureProto> {
  readonly bytesList: BytesList | undefined;
  readonly floatList: FloatList | undefined;
  readonly int64List: Int64List | undefined;
  protected get message() {
    return FeatureProto;
  }
  constructor(init: FeatureInit = {}) {
    super();
    const { bytesList, floatList, int64List } = knownOptions('tf.train.Feature', init, listNames);
    if ([bytesList, floatList, int64List].filter((list) => list !== undefined).length > 1)
      throw new InvalidArgumentError('a Feature holds one list: give only one of bytesList, floatList and int64List');
    this.bytesList = bytesList && (bytesList instanceof BytesList ? bytesList : new BytesList(bytesList));
    this.floatList = floatList && (floatList instanceof FloatList ? floatList : new FloatList(floatList));
    this.int64List = int64List && (int64List instanceof Int64List ? int64List : new Int64List(int64List));
  }
  /** Which list it holds. */
  get kind(): 'bytesList' | 'floatList' | 'int64List' | undefined {
    return this.bytesList ? 'bytesList' : this.floatList ? 'floatList' : this.int64List ? 'int64List' : undefined;
  }
  toProto(): FeatureProto {
    if (this.bytesList) return { bytes_list: this.bytesList.toProto() };
    if (this.floatList) return { float_list: this.floatList.toProto() };
    return this.int64List ? { int64_list: this.int64List.toProto() } : {};
  }
  static fromProto({ bytes_list, float_list, int64_list }: FeatureProto): Feature {
    return new Feature({ bytesList: bytes_list, floatList: float_list, int64List: int64_list });
  }
  static fromString(bytes: Uint8Array): Feature {
    return Feature.fromProto(FeatureProto.decode(bytes));
  }

  /**
   * The feature that holds a plain value: text and bytes make a BytesList; whole numbers and booleans an Int64List, unless a
   * fraction is among them; other numbers a FloatList. Typed arrays of floats make a FloatList, those of integers an Int64List.
   */
  static from(value: FeatureValue): Feature {
    if (value instanceof Feature) return value;
    if (value instanceof Uint8Array || typeof value === 'string')
      return new Feature({ bytesList: new BytesList({ value: [value] }) });
    if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean')
      return Feature.from([value]);
    if (value instanceof Float32Array || value instanceof Float64Array) return new Feature({ floatList: { value } });
    if (ArrayBuffer.isView(value)) return new Feature({ int64List: { value: value } }); // the other typed arrays hold integers
    if (value.length === 0)
      throw new InvalidArgumentError(
        'an empty list does not say what it is a list of; give a typed array or a tf.train.Feature',
      );
    if (value.every((x) => typeof x === 'string' || x instanceof Uint8Array))
      return new Feature({ bytesList: { value: value as readonly (string | Uint8Array)[] } }); // just looked at
    if (value.some((x) => typeof x === 'string' || x instanceof Uint8Array))
      throw new InvalidArgumentError('a feature cannot hold both numbers and bytes');
    const numbers = value as readonly (number | bigint | boolean)[]; // nothing else is left
    return numbers.every((x) => typeof x !== 'number' || Number.isInteger(x))
      ? new Feature({ int64List: { value: numbers } })
      : new Feature({ floatList: { value: numbers.map(Number) } });
  }
}

type IntegerArray = Int8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array;
type Scalar = number | bigint | boolean | string | Uint8Array;
/** A plain value that a feature can be made of. */
export type FeatureValue = Feature | Scalar | Float32Array | Float64Array | IntegerArray | readonly Scalar[];

export type FeaturesInit = Features | { feature?: Readonly<Record<string, FeatureInit>> };

/** Features by name. */
export class Features extends Part<FeaturesProto> {
  readonly feature: Readonly<Record<string, Feature>>;
  protected get message() {
    return FeaturesProto;
  }
  constructor(init: FeaturesInit = {}) {
    super();
    const { feature = {} } = knownOptions('tf.train.Features', init, ['feature']);
    this.feature = mapValues(feature, (x) => (x instanceof Feature ? x : new Feature(x)));
  }
  toProto(): FeaturesProto {
    return { feature: mapValues(this.feature, (x) => x.toProto()) };
  }
  static fromProto(proto: FeaturesProto | undefined): Features {
    return new Features({ feature: mapValues(proto?.feature ?? {}, Feature.fromProto) });
  }
  static fromString(bytes: Uint8Array): Features {
    return Features.fromProto(FeaturesProto.decode(bytes));
  }
  static from(values: Readonly<Record<string, FeatureValue>>): Features {
    return new Features({ feature: mapValues(values, Feature.from) });
  }
}

export type FeatureListInit = FeatureList | { feature?: readonly FeatureInit[] };

/** Features in a row, one per time step. */
export class FeatureList extends Part<FeatureListProto> {
  readonly feature: readonly Feature[];
  protected get message() {
    return FeatureListProto;
  }
  constructor(init: FeatureListInit = {}) {
    super();
    const { feature = [] } = knownOptions('tf.train.FeatureList', init, ['feature']);
    this.feature = feature.map((x) => (x instanceof Feature ? x : new Feature(x)));
  }
  toProto(): FeatureListProto {
    return { feature: this.feature.map((x) => x.toProto()) };
  }
  static fromProto({ feature }: FeatureListProto): FeatureList {
    return new FeatureList({ feature: feature.map(Feature.fromProto) });
  }
  static fromString(bytes: Uint8Array): FeatureList {
    return FeatureList.fromProto(FeatureListProto.decode(bytes));
  }
}

export type FeatureListsInit = FeatureLists | { featureList?: Readonly<Record<string, FeatureListInit>> };

/** Lists of features by name. */
export class FeatureLists extends Part<FeatureListsProto> {
  readonly featureList: Readonly<Record<string, FeatureList>>;
  protected get message() {
    return FeatureListsProto;
  }
  constructor(init: FeatureListsInit = {}) {
    super();
    const { featureList = {} } = knownOptions('tf.train.FeatureLists', init, ['featureList']);
    this.featureList = mapValues(featureList, (x) => (x instanceof FeatureList ? x : new FeatureList(x)));
  }
  toProto(): FeatureListsProto {
    return { feature_list: mapValues(this.featureList, (x) => x.toProto()) };
  }
  static fromProto(proto: FeatureListsProto | undefined): FeatureLists {
    return new FeatureLists({ featureList: mapValues(proto?.feature_list ?? {}, FeatureList.fromProto) });
  }
  static fromString(bytes: Uint8Array): FeatureLists {
    return FeatureLists.fromProto(FeatureListsProto.decode(bytes));
  }
}

/**
 * A training example: named lists of bytes, floats or integers.
 *
 * @example tf.train.Example.from({ image: pngBytes, label: 3, weights: [0.5, 0.25] }).serialize()
 */
export class Example extends Part<ExampleProto> {
  readonly features: Features;
  protected get message() {
    return ExampleProto;
  }
  constructor(init: { features?: FeaturesInit } = {}) {
    super();
    const { features = {} } = knownOptions('tf.train.Example', init, ['features']);
    this.features = features instanceof Features ? features : new Features(features);
  }
  toProto(): ExampleProto {
    return Object.keys(this.features.feature).length === 0 ? {} : { features: this.features.toProto() };
  }
  static fromString(bytes: Uint8Array): Example {
    return new Example({ features: Features.fromProto(ExampleProto.decode(bytes).features) });
  }
  /** An example of plain values; `tf.train.Feature.from` says which kind of list each becomes. */
  static from(values: Readonly<Record<string, FeatureValue>>): Example {
    return new Example({ features: Features.from(values) });
  }
}

/** A training example of one or more sequences, and features that hold for all of it. */
export class SequenceExample extends Part<SequenceExampleProto> {
  readonly context: Features;
  readonly featureLists: FeatureLists;
  protected get message() {
    return SequenceExampleProto;
  }
  constructor(init: { context?: FeaturesInit; featureLists?: FeatureListsInit } = {}) {
    super();
    const names = ['context', 'featureLists'] as const;
    const { context = {}, featureLists = {} } = knownOptions('tf.train.SequenceExample', init, names);
    this.context = context instanceof Features ? context : new Features(context);
    this.featureLists = featureLists instanceof FeatureLists ? featureLists : new FeatureLists(featureLists);
  }
  toProto(): SequenceExampleProto {
    const { context, featureLists } = this;
    // What is empty is left out, as Python leaves out what was not set.
    return {
      ...(Object.keys(context.feature).length > 0 && { context: context.toProto() }),
      ...(Object.keys(featureLists.featureList).length > 0 && { feature_lists: featureLists.toProto() }),
    };
  }
  static fromString(bytes: Uint8Array): SequenceExample {
    const { context, feature_lists } = SequenceExampleProto.decode(bytes);
    return new SequenceExample({
      context: Features.fromProto(context),
      featureLists: FeatureLists.fromProto(feature_lists),
    });
  }
}

/** A record with the same keys; `__proto__`, which data from outside may name, is a key like any other. */
function mapValues<T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
