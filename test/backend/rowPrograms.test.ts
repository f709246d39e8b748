/** @file Random steps over rows give the same bits as one generated loop and one by one, operation by operation. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import type { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import type { View } from '../../src/program/instructions.ts';
import { Chance } from './fuzz/chance.ts';
import { type Numbers, RowPrograms } from './fuzz/rowPrograms.ts';

const cpu = CpuDevice.open();

/** A view's elements, out of those of its whole buffer. */
function elementsOf({ shape, strides, offset }: View, buffer: NDArray): number[] {
  const all = buffer.numbers();
  let positions = [offset];
  for (const [axis, size] of shape.entries())
    positions = positions.flatMap((at) => Array.from({ length: size }, (_, i) => at + i * strides[axis]!));
  // Which of two equal zeros an extreme is depends on their order.
  return positions.map((at) => Number(all[at]) + 0);
}

/** The first result that differs, if one does. */
async function difference(seed: number, numbers: Numbers): Promise<string | undefined> {
  const program = new RowPrograms(new Chance(seed), numbers);
  const [joined, apart] = [await program.joined.run(cpu!), await program.apart.run(cpu!)];
  for (const { view, apart: other } of program.results) {
    const [found, expected] = [elementsOf(view, await joined(view)), elementsOf(other, await apart(other))];
    const at = expected.findIndex((x, i) => !Object.is(x, found[i]));
    if (at >= 0) return `${seed}: ${found[at]} instead of ${expected[at]} at ${at} of ${view.dtype} [${view.shape}]`;
  }
  return undefined;
}

describe.runIf(cpu)('random steps over rows', () => {
  it.each(['exact', 'wild'] as const)('of %s numbers', async (numbers) => {
    for (let seed = 1; seed <= 200; seed++) expect(await difference(seed, numbers)).toBeUndefined();
  });
});

describe('folds over the same large array', () => {
  it.each([[[20_000]], [[200, 100]]])('may give truth values beside numbers: %j', async (shape) => {
    const session = new tf.Session({ graph: new tf.Graph() });
    const results = session.graph.asDefault(() => {
      const x = tf.ones(shape).mul(tf.placeholderWithDefault(2.5, []));
      return [tf.reduceAll(x.greater(0), 0), tf.reduceAny(x.less(0), 0), tf.reduceSum(x, 0)];
    });
    const [all, any, sum] = await session.run(results);
    expect(new Set([all!.toArray()].flat())).toEqual(new Set([true]));
    expect(new Set([any!.toArray()].flat())).toEqual(new Set([false]));
    expect(new Set([sum!.toArray()].flat())).toEqual(new Set([2.5 * shape[0]!]));
  });
});
