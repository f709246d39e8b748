/** @file What the editor knows about shapes. Compiled, never run: a wrong rule is a type error here. */

import type { Dims } from '../../src/core/shape.ts';
import type {
  Broadcast,
  Concat,
  Expand,
  Gather,
  LiteralShape,
  MatMul,
  OneHot,
  Reduce,
  Reshape,
  ShapeMismatch,
  Squeeze,
  Stack,
  Transpose,
} from '../../src/graph/staticShapes.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
declare function check<T extends true>(): T;

check<Same<Broadcast<readonly [2, 3], readonly [3]>, readonly [2, 3]>>();
check<Same<Broadcast<readonly [2, 1], readonly [1, 4]>, readonly [2, 4]>>();
check<Same<Broadcast<readonly [null, 5], readonly [1, 5]>, readonly [null, 5]>>();
check<Same<Broadcast<readonly [null], readonly [7]>, readonly [7]>>();
check<Same<Broadcast<readonly [], readonly [7]>, readonly [7]>>();
check<Same<Broadcast<Dims, readonly [7]>, Dims>>();
check<Same<Broadcast<readonly [2, 3], readonly [4]>, ShapeMismatch<'[2, 3] and [4] cannot be broadcast together'>>>();

check<Same<MatMul<readonly [2, 3], readonly [3, 5]>, readonly [2, 5]>>();
check<Same<MatMul<readonly [null, 784], readonly [784, 10]>, readonly [null, 10]>>();
check<Same<MatMul<readonly [3, 2], readonly [3, 5], true>, readonly [2, 5]>>();
check<Same<MatMul<readonly [8, 2, 3], readonly [8, 3, 5]>, readonly [8, 2, 5]>>();
check<
  Same<
    MatMul<readonly [2, 3], readonly [4, 5]>,
    ShapeMismatch<'a is [2, 3] and b is [4, 5], so a has 3 columns but b has 4 rows; they must be equal'>
  >
>();

check<Same<Reduce<readonly [2, 3], undefined>, readonly []>>();
check<Same<Reduce<readonly [2, 3], 0>, readonly [3]>>();
check<Same<Reduce<readonly [2, 3], -1>, readonly [2]>>();
check<Same<Reduce<readonly [2, 3], 1, true>, readonly [2, 1]>>();
check<Same<Expand<readonly [2, 3], 0>, readonly [1, 2, 3]>>();
check<Same<Expand<readonly [2, 3], -1>, readonly [2, 3, 1]>>();
check<Same<Stack<readonly [2, 3], 4>, readonly [4, 2, 3]>>();
check<Same<Squeeze<readonly [1, 3, 1]>, readonly [3]>>();
check<Same<Squeeze<readonly [1, 3, 1], 0>, readonly [3, 1]>>();
check<Same<Transpose<readonly [2, 3, 4]>, readonly [4, 3, 2]>>();
check<Same<Transpose<readonly [2, 3, 4], readonly [1, 0, 2]>, readonly [3, 2, 4]>>();
check<Same<Reshape<readonly [2, -1]>, readonly [2, null]>>();
check<Same<Concat<readonly [2, 3], 1>, readonly [2, null]>>();
check<Same<Gather<readonly [10, 3], readonly [5]>, readonly [5, 3]>>();
check<Same<OneHot<readonly [null], 10>, readonly [null, 10]>>();
check<Same<LiteralShape<readonly [readonly [1, 2], readonly [3, 4]]>, readonly [2, 2]>>();
check<Same<LiteralShape<number[]>, readonly [null]>>();
