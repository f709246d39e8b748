/** @file A node's generator for host calls that draw as they go. */
import * as d from '../../core/dtypes.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';

/** The generator's 24 bytes as they are before this run, as three int64; the generator is moved on by `reserve` blocks. */
export function hostGenerator(p: ProgramBuilder, initial: () => Uint8Array, reserve: number): Value {
  const buffer = p.state.nodeState(p.node, initial);
  const state = p.copy({ buffer, dtype: d.int64, shape: [3], strides: [1], offset: 0 });
  p.random('bits', d.uint32, [0], { state: initial, reserve });
  return state;
}
