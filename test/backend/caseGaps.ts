/** @file Ops that cannot have a case of some kind, each with the reason. */

const callback = 'needs a callback in the process; tested in test/null/flow.test.ts';

/** No value case. */
export const withoutValueCase: Readonly<Record<string, string>> = {
  Const: 'every other case feeds through it',
  Placeholder: 'has no value of its own: running it is the error that test/tiny checks',
  PyFunc: callback,
  PyFuncStateless: callback,
};

/** No shape case. */
export const withoutShapeCase: Readonly<Record<string, string>> = {
  Const: 'its shape is that of its value',
  Placeholder: 'its shape is its attribute',
};

/** What a gradient that TensorFlow defines only in part covers. */
export interface PartialGradient {
  /** Input ports that have a true derivative. */
  readonly inputs?: readonly string[];
  /** Positions of the outputs whose derivative is followed. */
  readonly outputs?: readonly number[];
  readonly why: string;
}

/** Ops whose gradient in TensorFlow, and so here, is not the whole derivative. */
export const partialGradients: Readonly<Record<string, PartialGradient>> = {
  SoftmaxCrossEntropyWithLogits: {
    inputs: ['features'],
    outputs: [0],
    why: 'the second output is the gradient itself, and its dependence on the labels is left out',
  },
};
