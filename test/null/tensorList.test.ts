/** @file Lists of tensors keep their elements, whatever lists are made of them. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { int32 } from '../../src/core/dtypes.ts';
import { TensorList } from '../../src/core/tensorList.ts';

test.each([5, 40, 200])('lists of about %d elements, made of each other in any order', (length) => {
  let state = 1;
  const next = (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % below;
  };
  const first = Array.from({ length }, (_, i) => i);
  const made = [{ list: TensorList.of<number>(int32, [], first), expected: first }];
  for (let step = 0; step < 2000; step++) {
    // Mostly the newest, as in a loop; now and then one that was left behind.
    const { list, expected } = made[next(4) > 0 ? made.length - 1 : next(made.length)]!;
    const kind = list.length < length / 2 ? 0 : next(6);
    const index = next(Math.max(1, list.length));
    if (kind === 0) made.push({ list: list.push(step), expected: [...expected, step] });
    else if (kind === 1) made.push({ list: list.pop(), expected: expected.slice(0, -1) });
    else if (kind === 2) made.push({ list: list.resized(length), expected: list.resized(length).elements as number[] });
    else made.push({ list: list.with(index, step), expected: expected.with(index, step) });
    if (step % 7 === 0) {
      const seen = made[next(made.length)]!;
      expect(seen.list.at(index)).toBe(seen.expected[index]);
    }
  }
  for (const { list, expected } of made) expect(list.elements).toEqual(expected);
});

test('a list that is left behind keeps few of the elements that come after it', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void; // what the flag gives
  const first = TensorList.of<object>(int32, [], new Array(100).fill({}));
  let last = first;
  const refs: WeakRef<object>[] = [];
  for (let i = 0; i < 1000; i++) {
    const element = { i };
    refs.push(new WeakRef(element));
    last = last.with(i % 10, element);
  }
  await new Promise(setImmediate); // until then all that a WeakRef was made of is kept
  collectGarbage();
  expect(refs.filter((ref) => ref.deref()).length).toBeLessThan(250);
  expect([first.length, last.at(0)]).toEqual([100, { i: 990 }]);
});
