/** @file Counting in a variable: gives its value and adds one, until a limit is reached. */
import { int32, int64 } from '../../core/dtypes.ts';
import { OutOfRangeError } from '../../core/errors.ts';
import { withRank } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { add, ge } from '../../program/map.ts';
import type { Value } from '../../program/value.ts';
import { forms, missing, variableOf, variablePort, variableShapeOf } from './forms.ts';

for (const form of forms) {
  const port = form === 'resource' ? 'resource' : 'ref';
  defineOp({
    name: form === 'resource' ? 'ResourceCountUpTo' : 'CountUpTo',
    inputs: { [port]: variablePort(form, 'T') },
    outputs: { output: 'T' },
    attrs: { limit: attr('int'), T: attr('type', { allowed: [int32, int64] }) },
    stateful: form === 'resource',
    hostInputs: form === 'resource' ? [port] : [],
    shape: (_, __, { op }) => ({ output: withRank(variableShapeOf(op.inputs[0]!), 0) }),
    grad: notDifferentiable,
    lower: (p, inputs, { limit }) => {
      const counter = inputs[port] as Value; // a single port
      const variable = variableOf(p, counter);
      const before = p.read(variable, missing(counter, variable));
      p.check(
        p.map([before], (x) => ge(x, limit)),
        () => new OutOfRangeError(`Reached limit of ${limit}`),
      );
      const after = p.update(variable, missing(counter, variable));
      p.mapInto([before], (x) => [add(x, 1)], before.shape, [after]);
      return { output: before };
    },
    cases: () => [
      { shape: '[] -> []', attrs: { limit: 3, T: 'int32' } },
      {
        given: { [port]: { dtype: 'int32', value: 3 } },
        attrs: { limit: 5, T: 'int32' },
        expect: { output: { dtype: 'int32', value: 3 } },
        after: { [port]: { dtype: 'int32', value: 4 } },
      },
      { given: { [port]: { dtype: 'int64', value: 5 } }, attrs: { limit: 5, T: 'int64' }, fails: /Reached limit of 5/ },
    ],
  });
}
