/** @file What the ops that scatter into variables share: ways of combining, the content to change, and an example. */
import { int32, int64 } from '../../core/dtypes.ts';
import type { Nested } from '../../core/ndarray.ts';
import { attr } from '../../op/attrs.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Combine } from '../../program/instructions.ts';
import type { Value, VariableState } from '../../program/value.ts';
import { missing } from './forms.ts';

/** The ways of combining, by the name they have in ops, with what becomes of rows 0 and 2 in the examples below. */
export const combines: Readonly<Record<string, { combine: Combine; rows: readonly [number[], number[]] }>> = {
  Add: {
    combine: 'add',
    rows: [
      [4, 4],
      [11, 12],
    ],
  },
  Sub: {
    combine: 'sub',
    rows: [
      [-2, 0],
      [-1, 0],
    ],
  },
  Mul: {
    combine: 'mul',
    rows: [
      [3, 4],
      [40, 30],
    ],
  },
  Div: {
    combine: 'div',
    rows: [
      [1 / 3, 1],
      [0.625, 1.2],
    ],
  },
  Min: {
    combine: 'min',
    rows: [
      [1, 2],
      [2, 1],
    ],
  },
  Max: {
    combine: 'max',
    rows: [
      [3, 2],
      [5, 6],
    ],
  },
  Update: {
    combine: 'update',
    rows: [
      [3, 2],
      [4, 5],
    ],
  },
};

/** The content of a variable, and updates for its rows 2, 0 and 2. */
export const before = [
  [1, 2],
  [3, 4],
  [5, 6],
];
export const updatesGiven = [
  [2, 1],
  [3, 2],
  [4, 5],
];
export const ints = (value: Nested) => ({ dtype: 'int32' as const, value });

export const Tindices = attr('type', { allowed: [int32, int64] });
/** The content of a variable to scatter into, and what makes the change last: strings are not in the variable's memory. */
export function contentOf(
  p: ProgramBuilder,
  port: Value,
  variable: VariableState,
): { target: Value; keep: () => void } {
  if (!variable.dtype.isObject) return { target: p.update(variable, missing(port, variable)), keep: () => {} };
  const target = p.copy(p.read(variable, missing(port, variable)));
  return { target, keep: () => p.assign(variable, target) };
}
