/** @file The case format: examples beside an op's definition that one harness turns into tests of every kind. */
import type { DTypeName } from '../core/dtypes.ts';
import type { Nested } from '../core/ndarray.ts';

/** A static shape rule as text: `'[2, ?], [?, 3] -> [2, 3]'`; several outputs are separated by commas, `?` is unknown rank. */
export interface ShapeCase {
  readonly shape: string;
  readonly attrs?: Readonly<Record<string, unknown>>;
  /** Values of inputs that the rule looks into, by port. */
  readonly given?: Readonly<Record<string, Nested | CaseArray>>;
  /** The rule must refuse, with a message like this. */
  readonly rejects?: RegExp;
}

/** An input or output with its dtype said, where it is not float32 (numbers), bool or string. */
export interface CaseArray {
  readonly dtype: DTypeName;
  readonly value: Nested;
  /** Needed for empty arrays, whose shape nesting cannot tell. */
  readonly shape?: readonly number[];
}

/** Numbers of type int32, as most ports that say how something is done take them. */
export const int32s = (value: Nested) => ({ dtype: 'int32', value }) as const;

/** Inputs and the outputs they must give. Plain numbers are float32. */
export interface ValueCase<I extends string = string, O extends string = string> {
  readonly given: Readonly<Record<I, Nested | CaseArray | readonly (Nested | CaseArray)[]>>;
  readonly attrs?: Readonly<Record<string, unknown>>;
  readonly expect?: Partial<Readonly<Record<O, Nested | CaseArray | readonly (Nested | CaseArray)[]>>>;
  /** What the variable behind a `resource` or `Ref` port, begun with the value given for it, holds afterwards. */
  readonly after?: Partial<Readonly<Record<I, Nested | CaseArray>>>;
  /** Running must fail with a message like this. */
  readonly fails?: RegExp;
  /**
   * False where the point is a kink or the function is not smooth there: no gradient check. `'once'` where TensorFlow's
   * gradient of the gradient is not the second derivative, and so neither is ours.
   */
  readonly differentiable?: false | 'once';
  /** The outputs through which the gradient is checked, where TensorFlow's leaves some out; all of them unless given. */
  readonly gradientOf?: readonly O[];
  /** Outputs that TensorFlow leaves undefined here, or makes differently in different kernels: not compared with its. */
  readonly unspecified?: readonly O[];
  /** Largest relative difference allowed; the default is 1e-5 for float32. A comment says why it differs. */
  readonly tolerance?: number;
}

export type Case<I extends string = string, O extends string = string> = ShapeCase | ValueCase<I, O>;
export type AnyCase = Case;
