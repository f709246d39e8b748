/** @file Control flow by frames: the ops with which TensorFlow 1.x graphs branch and loop. The runtime plays their parts. */
import { AbortedError, InternalError, InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, isFullyDefined, sameShape, showRuntime, withRank } from '../../core/shape.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, gradientPending, notDifferentiable } from '../../op/defineOp.ts';
import { node } from '../../op/node.ts';
import type { Gradient } from '../../op/registry.ts';
import { equal } from '../math/index.ts';

/** Every op comes for values and, as `Ref…`, for references to variables. */
type Form = 'value' | 'reference';
const forms: readonly Form[] = ['value', 'reference'];
const named = (form: Form, name: string) => (form === 'value' ? name : `Ref${name}`);
const port = (form: Form) => (form === 'value' ? 'T' : 'Ref(T)');

const notLowered = (): never => {
  throw new InternalError('control flow by frames is not lowered: the runtime plays its parts between programs');
};

const byClient = gradientPending(
  'the gradient of a loop of frames is built by the client that builds the loop; tf.whileLoop makes loops that have one',
);

/** Where a value goes: to the first output when the predicate is false, to the second when it is true. */
function switched(data: TensorLike, pred: Tensor): readonly [Tensor, Tensor] {
  const [whenFalse, whenTrue] = node('Switch', { data, pred }).outputs;
  return [whenFalse!, whenTrue!];
}

for (const form of forms)
  defineOp({
    name: named(form, 'Switch'),
    inputs: { data: port(form), pred: 'bool' },
    outputs: { output_false: port(form), output_true: port(form) },
    attrs: { T: anyType },
    controlFlow: 'switch',
    allowsUninitializedInput: form === 'reference',
    shape: ({ data, pred }) => {
      withRank(pred, 0);
      return { output_false: data, output_true: data };
    },
    grad: ({ inputs: { pred } }, dy) => {
      const [whenFalse] = switched(dy.output_false, pred);
      const [, whenTrue] = switched(dy.output_true, pred);
      return { data: Merge.build({ inputs: [whenFalse, whenTrue] }).output };
    },
    lower: notLowered,
    cases: () => [{ shape: '[2, ?], [] -> [2, ?], [2, ?]' }, { shape: '[2], [3]', rejects: /rank 0/ }],
  });

export const SwitchN = defineOp({
  name: '_SwitchN',
  inputs: { data: 'T', output_index: 'int32' },
  outputs: { outputs: 'num_outs * T' },
  attrs: { num_outs: attr('int', { minimum: 1 }), T: anyType },
  controlFlow: 'switch',
  shape: ({ data, output_index }, { num_outs }) => {
    withRank(output_index, 0);
    return { outputs: new Array<Dims>(num_outs).fill(data) };
  },
  grad: notDifferentiable,
  lower: notLowered,
  cases: () => [],
});

/** A dimension that differs among the inputs is not known, and neither is the shape if the ranks differ. */
function mergedShape(inputs: readonly Dims[]): Dims {
  const [first = null] = inputs;
  if (first === null || inputs.some((s) => s?.length !== first.length)) return null;
  return first.map((d, i) => (inputs.every((s) => s![i] === d) ? d : null));
}

const mergeAttrs = { T: anyType, N: attr('int', { minimum: 1 }) };
/** The gradient goes to the input that was taken. */
function mergeGradient(inputs: readonly Tensor[], taken: Tensor, dy: Gradient): Tensor[] {
  const preds = inputs.map((_, i) => equal(taken, i));
  return preds.map((pred) => switched(dy, pred)[1]);
}

export const Merge = defineOp({
  name: 'Merge',
  inputs: { inputs: 'N * T' },
  outputs: { output: 'T', value_index: 'int32' },
  attrs: mergeAttrs,
  controlFlow: 'merge',
  shape: ({ inputs }) => ({ output: mergedShape(inputs), value_index: [] }),
  grad: ({ inputs: { inputs }, outputs }, dy) => ({ inputs: mergeGradient(inputs, outputs.value_index, dy.output) }),
  lower: notLowered,
  cases: () => [
    { shape: '[2, ?], [3, ?] -> [?, ?], []', attrs: { N: 2 } },
    { shape: '[2, 4], [3] -> ?, []', attrs: { N: 2 } },
    {
      given: { inputs: [[1, 2]] },
      expect: { output: [1, 2], value_index: { dtype: 'int32', value: 0 } },
      differentiable: false,
    },
  ],
});

export const RefMerge = defineOp({
  name: 'RefMerge',
  inputs: { inputs: 'Ref(N * T)' },
  outputs: { output: 'Ref(T)', value_index: 'int32' },
  attrs: mergeAttrs,
  controlFlow: 'merge',
  shape: ({ inputs }) => ({ output: mergedShape(inputs), value_index: [] }),
  grad: ({ inputs: { inputs }, outputs }, dy) => ({ inputs: mergeGradient(inputs, outputs.value_index, dy.output) }),
  lower: notLowered,
  cases: () => [{ shape: '[2, ?], [3, ?] -> [?, ?], []', attrs: { N: 2 } }],
});

for (const form of forms) {
  defineOp({
    name: named(form, 'Enter'),
    inputs: { data: port(form) },
    outputs: { output: port(form) },
    attrs: {
      T: anyType,
      frame_name: attr('string'),
      is_constant: attr('bool', { default: false }),
      parallel_iterations: attr('int', { default: 10 }),
    },
    controlFlow: 'enter',
    // What changes from one iteration to the next may change its shape as well.
    shape: ({ data }, { is_constant }) => ({ output: is_constant || form === 'reference' ? data : null }),
    grad: byClient,
    lower: notLowered,
    cases: () => [
      { shape: '[2, ?] -> [2, ?]', attrs: { frame_name: 'loop', is_constant: true } },
      ...(form === 'value' ? [{ shape: '[2, ?] -> ?', attrs: { frame_name: 'loop' } }] : []),
    ],
  });

  const passing = { Exit: 'exit', NextIteration: 'nextIteration' } as const;
  for (const [name, controlFlow] of Object.entries(passing))
    defineOp({
      name: named(form, name),
      inputs: { data: port(form) },
      outputs: { output: port(form) },
      attrs: { T: anyType },
      controlFlow,
      shape: ({ data }) => ({ output: data }),
      grad: byClient,
      lower: notLowered,
      cases: () => [{ shape: '[2, ?] -> [2, ?]' }],
    });
}

export const LoopCond = defineOp({
  name: 'LoopCond',
  inputs: { input: 'bool' },
  outputs: { output: 'bool' },
  attrs: {},
  controlFlow: 'loopCond',
  shape: ({ input }) => ({ output: withRank(input, 0) }),
  grad: notDifferentiable,
  lower: notLowered,
  cases: () => [
    { shape: '[] -> []' },
    { shape: '? -> []' },
    { shape: '[2]', rejects: /rank 0/ },
    { given: { input: true }, expect: { output: true } },
  ],
});

/** One of several references, by number. */
export const RefSelect = defineOp({
  name: 'RefSelect',
  inputs: { index: 'int32', inputs: 'Ref(N * T)' },
  outputs: { output: 'Ref(T)' },
  attrs: { T: anyType, N: attr('int', { minimum: 1 }) },
  hostInputs: ['index'],
  shape: ({ index, inputs }) => {
    withRank(index, 0);
    const [first = null] = inputs;
    const alike = isFullyDefined(first) && inputs.every((s) => isFullyDefined(s) && sameShape(first, s));
    return { output: alike ? first : null };
  },
  grad: notDifferentiable,
  lower: (p, { index, inputs }) => {
    if (index.shape.length > 0)
      throw new InvalidArgumentError(`Index must be a scalar, but it has shape ${showRuntime(index.shape)}`);
    const chosen = p.demand(index).numberAt(0);
    const output = inputs[chosen];
    if (!output) throw new InvalidArgumentError(`Index must be in the range [0, ${inputs.length}) but got ${chosen}`);
    return { output };
  },
  cases: () => [
    { shape: '[], [2], [2] -> [2]', attrs: { N: 2 } },
    { shape: '[], [2], [3] -> ?', attrs: { N: 2 } },
  ],
});

/** TensorFlow ends the whole process; here only the run ends. */
export const Abort = defineOp({
  name: 'Abort',
  inputs: {},
  outputs: {},
  attrs: { error_msg: attr('string', { default: '' }), exit_without_error: attr('bool', { default: false }) },
  shape: () => ({}),
  grad: notDifferentiable,
  lower: (p, _, { error_msg, exit_without_error }) => {
    p.host([], [], () => {
      throw new AbortedError(
        exit_without_error ? 'the graph ended the run' : `Abort_op intentional failure; ${error_msg}`,
      );
    });
    return {};
  },
  cases: () => [{ shape: ' -> ' }],
});
