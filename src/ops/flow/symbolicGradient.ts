/** @file SymbolicGradient: the derivative of a function of the graph's library, worked out when the graph runs. */
import { float32 } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { derivativeName } from '../../op/functionDerivative.ts';

export const SymbolicGradient = defineOp({
  name: 'SymbolicGradient',
  inputs: { input: 'Tin' },
  outputs: { output: 'Tout' },
  attrs: { Tin: attr('list(type)', { minimum: 1 }), Tout: attr('list(type)', { minimum: 1 }), f: attr('func') },
  takesLists: true,
  // The inputs are the arguments of the function and gradients of its results; the outputs are gradients of the arguments.
  shape({ input }, { Tout }) {
    if (input.length < Tout.length) throw new InvalidArgumentError('len(inputs) < len(outputs)');
    return { output: Tout.map((dtype, i) => (dtype.name === 'resource' ? null : input[i]!)) };
  },
  grad: gradientPending('TensorFlow has none either'),
  lower: (p, { input }, { f, Tout }) => {
    const results = p.call({ ...f, name: derivativeName(f.name) }, input);
    if (results.length !== Tout.length)
      throw new InvalidArgumentError(
        `SymGrad expects to return ${Tout.length} tensor(s), but get ${results.length} tensor(s) instead.`,
      );
    return { output: results };
  },
  cases: () => [
    { shape: '[2], [] -> [2]', attrs: { Tin: [float32, float32], Tout: [float32], f: { name: 'f', attr: {} } } },
  ],
});
