import { describe, expect, it } from 'vitest';
import { float32, int32 } from '../../../src/core/dtypes.ts';
import { finish } from '../../../src/core/eventLoop.ts';
import { accumulateProducts, joinSums } from '../../../src/program/accumulate.ts';
import { describe as inWords } from '../../../src/program/describe.ts';
import * as e from '../../../src/program/expr.ts';
import { Buffer, type DeviceInstruction, type View } from '../../../src/program/instructions.ts';
import { planSegment } from '../../../src/program/plan.ts';
import { dense } from '../../../src/program/value.ts';

const size = (shape: readonly number[]) => shape.reduce((n, d) => n * d, 1);
const temp = (...shape: number[]) => dense(new Buffer('temp', 4 * size(shape)), float32, shape);
const bound = (...shape: number[]) => dense(new Buffer('bound', 4 * size(shape)), float32, shape);
const dot = (output: View): DeviceInstruction => ({ kind: 'dot', a: bound(4, 3), b: bound(3, 5), output });
const add = (x: View, y: View, output: View): DeviceInstruction => ({
  kind: 'map',
  shape: output.shape,
  inputs: [x, y],
  outputs: [output],
  results: [e.add(e.input(0, x.dtype), e.input(1, x.dtype))],
});
const words = (program: DeviceInstruction[], keep: Buffer[] = []) =>
  finish(accumulateProducts(program, new Set(keep))).map((i) => inWords(i));

/** sums[t] = sums[t - 1] + a product of its own. */
function loop(steps: number): { program: DeviceInstruction[]; last: View } {
  let last = temp(4, 5);
  const program = [dot(last)];
  for (let t = 1; t < steps; t++) {
    const [product, sum] = [temp(4, 5), temp(4, 5)];
    program.push(dot(product), add(last, product, sum));
    last = sum;
  }
  return { program, last };
}

describe('sums of products', () => {
  it('grow as the products are computed, in one place', () => {
    const { program, last } = loop(4);
    expect(words(program, [last.buffer])).toEqual([
      'dot [4, 3] · [3, 5]',
      'dot [4, 3] · [3, 5] + sum',
      'dot [4, 3] · [3, 5] + sum',
      'dot [4, 3] · [3, 5] + sum',
    ]);
  });

  it('of small products that follow each other are one instruction', () => {
    const { program, last } = loop(4);
    const joined = (keep: Buffer[] = []) => {
      const kept = new Set([last.buffer, ...keep]);
      return finish(joinSums(finish(accumulateProducts(program, kept)), kept)).map((i) => inWords(i));
    };
    expect(joined()).toEqual(['sum of 4 dot [4, 3] · [3, 5]']);
    // A sum that is wanted on the way stays.
    const [third] = program.flatMap((i) => (i.kind === 'map' ? i.outputs : [])).slice(1, 2);
    expect(joined([third!.buffer])).toEqual([
      'sum of 3 dot [4, 3] · [3, 5]',
      'dot [4, 3] · [3, 5]',
      'map [4, 5] x0 + x1',
    ]);
    const { instructions, arenaBytes } = planSegment([...program, add(last, bound(4, 5), bound(4, 5))], new Set());
    expect(instructions).toHaveLength(1);
    expect(arenaBytes).toBe(0);
  });

  it('that are added up by one map are one instruction', () => {
    const [x, y, z, sum] = [temp(4, 5), temp(4, 5), temp(4, 5), temp(4, 5)];
    const total = (...addends: View[]): DeviceInstruction => ({
      kind: 'map',
      shape: sum.shape,
      inputs: [x, y, z],
      outputs: [sum],
      results: [addends.map((v) => e.input([x, y, z].indexOf(v), float32)).reduce((s, v) => e.add(s, v))],
    });
    const keep = new Set([sum.buffer]);
    const joined = (program: DeviceInstruction[]) =>
      finish(joinSums(finish(accumulateProducts(program, keep)), keep)).map((i) => inWords(i));
    expect(joined([dot(x), dot(y), dot(z), total(x, y, z)])).toEqual(['sum of 3 dot [4, 3] · [3, 5]']);
    // What is no product, or is added twice, leaves the map as it is.
    const made = add(bound(4, 5), bound(4, 5), y);
    expect(joined([made, dot(z), total(x, y, z)])).toHaveLength(3);
    expect(joined([dot(x), dot(y), dot(z), total(x, y, z, x)])).toHaveLength(4);
  });

  it('stay apart where a factor changes on the way', () => {
    const { program, last } = loop(3);
    const first = program[0]!;
    const target = first.kind === 'dot' ? first.a : last;
    const change = add(bound(4, 3), bound(4, 3), target);
    const keep = new Set([last.buffer]);
    const changed = finish(joinSums(finish(accumulateProducts([first, change, ...program.slice(1)], keep)), keep));
    expect(changed.map((i) => inWords(i))).toEqual([
      'dot [4, 3] · [3, 5]',
      'map [4, 3] x0 + x1',
      'sum of 2 dot [4, 3] · [3, 5] + sum',
    ]);
  });

  it('stay sums where an addend is wanted again, is not whole, or is of a type without fast products', () => {
    const [product, other, sum] = [temp(4, 5), temp(4, 5), temp(4, 5)];
    const made = add(bound(4, 5), bound(4, 5), other);
    expect(words([made, dot(product), add(other, product, sum)], [sum.buffer])).toHaveLength(2);
    expect(words([made, dot(product), add(other, product, sum)], [sum.buffer, other.buffer])).toHaveLength(3);
    expect(words([made, dot(product), add(other, product, sum)], [sum.buffer, product.buffer])).toHaveLength(3);
    const row = { ...temp(5), shape: [4, 5], strides: [0, 1] };
    expect(words([dot(product), add(row, product, sum)], [sum.buffer])).toHaveLength(2);
    const ints = (v: View): View => ({ ...v, dtype: int32 });
    const whole: DeviceInstruction = { kind: 'dot', a: ints(bound(4, 3)), b: ints(bound(3, 5)), output: ints(product) };
    expect(words([made, whole, add(ints(other), ints(product), ints(sum))], [sum.buffer])).toHaveLength(3);
  });
});
