/** @file The ops of conditional accumulators, dense and sparse, for both forms of handles. */
import { type DType, int32, int64 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type NDArray, scalar } from '../../core/ndarray.ts';
import { attr, numbers } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { Accumulator, ConditionalAccumulator, SparseConditionalAccumulator } from './accumulator.ts';
import { byReference, byResource, type Form, handleTo, objectAt, sharedAttrs } from './handles.ts';

const attrs = {
  dtype: numbers,
  shape: attr('shape'),
  ...sharedAttrs,
  reduction_type: attr('string', { default: 'MEAN', choices: ['MEAN', 'SUM'] }),
} as const;

/** The newer forms say what they are in front; only the dense accumulator has them. */
const prefix = (form: Form) => (form === byResource ? 'Resource' : '');

const accumulatorAt = (handle: NDArray | undefined) => objectAt<Accumulator<never, unknown>>(handle!, Accumulator);

function checkKind(present: object, name: string, Kind: abstract new (...args: never[]) => object): void {
  if (!(present instanceof Kind))
    throw new InvalidArgumentError(`Resource '${name}' is no ${Kind.name}, but a ${present.constructor.name}`);
}

function checkDtype(accumulator: { readonly dtype: DType }, dtype: DType): void {
  if (accumulator.dtype !== dtype)
    throw new InvalidArgumentError(
      `The accumulator holds ${accumulator.dtype.runtimeName}, but the node is for ${dtype.runtimeName}`,
    );
}

/** An op that makes an accumulator. */
const accumulatorOp = (
  kind: '' | 'Sparse',
  form: Form,
  Kind: typeof ConditionalAccumulator | typeof SparseConditionalAccumulator,
) =>
  defineOp({
    name: `${prefix(form)}${kind}ConditionalAccumulator`,
    inputs: {},
    outputs: { handle: form.port },
    attrs,
    stateful: true,
    shape: () => ({ handle: [2] }),
    grad: notDifferentiable,
    lower(p, _, values) {
      const { dtype, shape, reduction_type: reduction, shared_name } = values;
      const make = () => new Kind({ dtype, shape, reduction });
      const check = (present: object) => checkKind(present, shared_name, Kind);
      return { handle: handleTo(p, form, values, make, check) };
    },
    cases: () => [{ shape: '-> [2]', attrs: { dtype: 'float32', shape: [2] } }],
  });
export const ResourceConditionalAccumulator = accumulatorOp('', byResource, ConditionalAccumulator);
accumulatorOp('', byReference, ConditionalAccumulator);
export const SparseConditionalAccumulatorOp = accumulatorOp('Sparse', byReference, SparseConditionalAccumulator);

const applyOp = (form: Form) =>
  defineOp({
    name: `${prefix(form)}AccumulatorApplyGradient`,
    inputs: { handle: form.port, local_step: 'int64', gradient: 'dtype' },
    outputs: {},
    attrs: { dtype: numbers },
    stateful: form.stateful,
    mayWait: true,
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, { handle, local_step, gradient }, { dtype }) {
      p.host([handle, local_step, gradient], [], ([at, step, array]) => {
        const accumulator = objectAt(at!, ConditionalAccumulator);
        checkDtype(accumulator, dtype);
        accumulator.apply(array!, step!.numberAt(0));
        return [];
      });
      return {};
    },
    cases: () => [{ shape: `${form.handleCase}, [], [2, ?] ->` }],
  });
export const ResourceAccumulatorApplyGradient = applyOp(byResource);
applyOp(byReference);

const takeOp = (form: Form) =>
  defineOp({
    name: `${prefix(form)}AccumulatorTakeGradient`,
    inputs: { handle: form.port, num_required: 'int32' },
    outputs: { average: 'dtype' },
    attrs: { dtype: numbers },
    stateful: form.stateful,
    mayWait: true,
    shape: () => ({ average: null }),
    grad: notDifferentiable,
    lower: (p, { handle, num_required }, { dtype }) => ({
      average: p.host([handle, num_required], [{ dtype }], async ([at, required], run) => {
        const accumulator = objectAt(at!, ConditionalAccumulator);
        checkDtype(accumulator, dtype);
        return [await accumulator.take(required!.numberAt(0), run)];
      })[0]!,
    }),
    cases: () => [{ shape: `${form.handleCase}, [] -> ?`, attrs: { dtype: 'float32' } }],
  });
export const ResourceAccumulatorTakeGradient = takeOp(byResource);
takeOp(byReference);

const countOp = (form: Form) =>
  defineOp({
    name: `${prefix(form)}AccumulatorNumAccumulated`,
    inputs: { handle: form.port },
    outputs: { num_accumulated: 'int32' },
    attrs: {},
    stateful: form.stateful,
    shape: () => ({ num_accumulated: [] }),
    grad: notDifferentiable,
    lower: (p, { handle }) => ({
      num_accumulated: p.host([handle], [{ dtype: int32, shape: [] }], ([at]) => [
        scalar(int32, accumulatorAt(at).accumulated),
      ])[0]!,
    }),
    cases: () => [{ shape: `${form.handleCase} -> []` }],
  });
export const ResourceAccumulatorNumAccumulated = countOp(byResource);
export const AccumulatorNumAccumulated = countOp(byReference);

const stepOp = (form: Form) =>
  defineOp({
    name: `${prefix(form)}AccumulatorSetGlobalStep`,
    inputs: { handle: form.port, new_global_step: 'int64' },
    outputs: {},
    attrs: {},
    stateful: form.stateful,
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, { handle, new_global_step }) {
      p.host([handle, new_global_step], [], ([at, step]) => {
        accumulatorAt(at).setGlobalStep(step!.numberAt(0));
        return [];
      });
      return {};
    },
    cases: () => [{ shape: `${form.handleCase}, [] ->` }],
  });
export const ResourceAccumulatorSetGlobalStep = stepOp(byResource);
export const AccumulatorSetGlobalStep = stepOp(byReference);

export const SparseAccumulatorApplyGradient = defineOp({
  name: 'SparseAccumulatorApplyGradient',
  inputs: {
    handle: 'Ref(string)',
    local_step: 'int64',
    gradient_indices: 'int64',
    gradient_values: 'dtype',
    gradient_shape: 'int64',
  },
  outputs: {},
  attrs: { dtype: numbers, has_known_shape: attr('bool') },
  mayWait: true,
  shape: () => ({}),
  grad: notDifferentiable,
  lower(p, { handle, local_step, gradient_indices, gradient_values, gradient_shape }, { dtype, has_known_shape }) {
    const inputs = [handle, local_step, gradient_indices, gradient_values, gradient_shape];
    p.host(inputs, [], ([at, step, indices, values, shape]) => {
      const accumulator = objectAt(at!, SparseConditionalAccumulator);
      checkDtype(accumulator, dtype);
      const whole = has_known_shape ? shape!.numbers() : undefined;
      accumulator.apply({ indices: indices!, values: values!, shape: whole }, step!.numberAt(0));
      return [];
    });
    return {};
  },
  cases: () => [{ shape: '[2], [], [?], [?, 2], [?] ->', attrs: { has_known_shape: false } }],
});

export const SparseAccumulatorTakeGradient = defineOp({
  name: 'SparseAccumulatorTakeGradient',
  inputs: { handle: 'Ref(string)', num_required: 'int32' },
  outputs: { indices: 'int64', values: 'dtype', shape: 'int64' },
  attrs: { dtype: numbers },
  mayWait: true,
  shape: () => ({ indices: null, values: null, shape: null }),
  grad: notDifferentiable,
  lower(p, { handle, num_required }, { dtype }) {
    const results = [{ dtype: int64 }, { dtype }, { dtype: int64 }];
    const [indices, values, shape] = p.host([handle, num_required], results, ([at, required], run) => {
      const accumulator = objectAt(at!, SparseConditionalAccumulator);
      checkDtype(accumulator, dtype);
      return accumulator.take(required!.numberAt(0), run);
    });
    return { indices: indices!, values: values!, shape: shape! };
  },
  cases: () => [{ shape: '[2], [] -> ?, ?, ?', attrs: { dtype: 'float32' } }],
});
