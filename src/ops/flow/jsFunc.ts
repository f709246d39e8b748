/** @file PyFunc: calls a function of the user's program in the middle of a graph. */
import type { DType } from '../../core/dtypes.ts';
import { InvalidArgumentError, NotFoundError } from '../../core/errors.ts';
import { fromNested, NDArray, type Nested } from '../../core/ndarray.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { HostResult } from '../../program/tracing.ts';

/** One result as the callback gives it: an array, or plain values of the declared type. */
export type JsResult = NDArray | Nested;
/** What the user's function gives; nothing when no types were asked for. */
type JsReturn = JsResult | readonly JsResult[] | undefined;
/** The user's function: host arrays in, results out. */
export type JsFunction = (...args: NDArray[]) => JsReturn | Promise<JsReturn>;

interface Callback {
  readonly call: JsFunction;
  /** Whether a single type was asked for, so that the result is not a list. */
  readonly isSingle: boolean;
}

/** Functions by token, for this process: a GraphDef carries only the token. */
const callbacks = new Map<string, Callback>();
let made = 0;

async function invoke(token: string, types: readonly DType[], args: NDArray[]): Promise<NDArray[]> {
  const callback = callbacks.get(token);
  if (!callback)
    throw new NotFoundError(
      `callback ${token} is not found. A function given to tf.jsFunc exists only in the process that made the graph.`,
    );
  const result = await callback.call(...args);
  if (types.length === 0) return []; // called for what it does, whatever it returns
  const list = callback.isSingle ? [result as JsResult] : (result as readonly JsResult[]); // as the user declared
  if (list.length !== types.length)
    throw new InvalidArgumentError(
      `${token} returns ${list.length} values, but expects to see ${types.length} values.`,
    );
  return list.map((value, i) => {
    const array = value instanceof NDArray ? value : fromNested(value, types[i]);
    if (array.dtype !== types[i])
      throw new InvalidArgumentError(
        `${i}-th value returned by ${token} is ${array.dtype}, but expects ${types[i]}. Make it with tf.NDArray of that type.`,
      );
    return array;
  });
}

const spec = {
  inputs: { input: 'Tin' },
  outputs: { output: 'Tout' },
  attrs: {
    token: attr('string'),
    Tin: attr('list(type)', { minimum: 0 }),
    Tout: attr('list(type)', { minimum: 0 }),
  },
} as const;

export const PyFunc = defineOp({
  name: 'PyFunc',
  ...spec,
  stateful: true,
  shape: (_, { Tout }) => ({ output: Tout.map(() => null) }),
  grad: notDifferentiable,
  lower: (p, { input }, { token, Tout }) => {
    const results = Tout.map((dtype): HostResult => ({ dtype }));
    return { output: p.host(input, results, (args) => invoke(token, Tout, args)) };
  },
  cases: () => [{ shape: '[2, ?] -> ?', attrs: { token: 'none', Tout: ['float32'] } }],
});

export const PyFuncStateless = defineOp({
  name: 'PyFuncStateless',
  ...spec,
  shape: (_, { Tout }) => ({ output: Tout.map(() => null) }),
  grad: notDifferentiable,
  lower: (p, { input }, { token, Tout }) => {
    const results = Tout.map((dtype): HostResult => ({ dtype }));
    return { output: p.host(input, results, (args) => invoke(token, Tout, args)) };
  },
  cases: () => [{ shape: '[2, ?] -> ?', attrs: { token: 'none', Tout: ['float32'] } }],
});

/** One tensor for one type, a list for a list, and for the empty list the operation itself: run it for what it does. */
export type JsOutputs<T> = T extends DType ? Tensor : T extends readonly [] ? Operation : Tensor[];

export interface JsFuncOptions {
  /** False when the same arguments always give the same results, so that the call may be skipped. True by default. */
  readonly stateful?: boolean;
  readonly name?: string;
}

/**
 * The result of a function of this program, called with the values of `inputs` each time it is needed; `tf.py_func` in
 * Python. Adds one `PyFunc` node (`PyFuncStateless` when not stateful).
 *
 * @example tf.jsFunc((a) => Math.max(...a.numbers()), [[1.5, 3.5]], tf.float32) // runs to 3.5
 */
export function jsFunc<const T extends DType | readonly DType[]>(
  call: JsFunction,
  inputs: readonly TensorLike[],
  Tout: T,
  options: JsFuncOptions = {},
): JsOutputs<T> {
  onlyOptions('tf.jsFunc', options, 'stateful', 'name');
  const isSingle = !Array.isArray(Tout);
  const types = isSingle ? [Tout as DType] : (Tout as readonly DType[]); // told apart above
  const token = `jsfunc_${made++}`;
  callbacks.set(token, { call, isSingle });
  const Op = options.stateful === false ? PyFuncStateless : PyFunc;
  const op = Op.node({ input: inputs }, { name: options.name, attrs: { token, Tout: types } });
  const outputs = isSingle ? op.outputs[0]! : types.length === 0 ? op : [...op.outputs];
  return outputs as JsOutputs<T>; // the three cases of JsOutputs
}
