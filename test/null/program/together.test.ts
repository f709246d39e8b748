import { describe, expect, it } from 'vitest';
import { float32, int32 } from '../../../src/core/dtypes.ts';
import { finish } from '../../../src/core/eventLoop.ts';
import { describe as inWords } from '../../../src/program/describe.ts';
import * as e from '../../../src/program/expr.ts';
import { Buffer, type DeviceInstruction, type View } from '../../../src/program/instructions.ts';
import { sideBySide } from '../../../src/program/together.ts';
import { dense } from '../../../src/program/value.ts';

const x = e.input(0, float32);
const temp = (n: number) => dense(new Buffer('temp', 4 * n), float32, [n]);
const bound = (n: number, owner?: object) => dense(new Buffer('bound', 4 * n, undefined, owner), float32, [n]);
const map = (input: View, output: View, result: e.Expr = e.neg(x)): DeviceInstruction => ({
  kind: 'map',
  shape: output.shape,
  inputs: [input],
  outputs: [output],
  results: [result],
});
const words = (...program: DeviceInstruction[]) => finish(sideBySide(program)).map((i) => inWords(i));

describe('independent instructions', () => {
  it('are put side by side, in the place of the first', () => {
    const [a, t] = [bound(3), temp(3)];
    const program = [map(a, t), map(t, bound(3), e.exp(x)), map(a, bound(3), e.sin(x)), map(bound(5), bound(5))];
    expect(words(...program)).toEqual(['map [3] neg(x0) | map [3] sin(x0) | map [5] neg(x0)', 'map [3] exp(x0)']);
  });

  it('are at most as many as are allowed at once', () => {
    const program = [1, 2, 3].map((n) => map(bound(n), bound(n)));
    expect(finish(sideBySide(program, 2)).map((i) => inWords(i))).toEqual([
      'map [1] neg(x0) | map [2] neg(x0)',
      'map [3] neg(x0)',
    ]);
    expect(finish(sideBySide(program, 1))).toHaveLength(3);
  });

  it('are those that neither read nor overwrite what others write', () => {
    const variable = {};
    const [old, updated] = [bound(3, variable), bound(3, variable)];
    // An update may not run beside what reads the variable before it, nor beside what reads it after.
    expect(words(map(old, bound(3), e.sin(x)), map(bound(3), updated), map(updated, bound(3), e.cos(x)))).toEqual([
      'map [3] sin(x0)',
      'map [3] neg(x0)',
      'map [3] cos(x0)',
    ]);
  });

  it('do not include what may fail, nor pass it when they leave something behind', () => {
    const check: DeviceInstruction = { kind: 'check', input: bound(1) };
    expect(words(map(bound(3), bound(3)), check, map(bound(3), bound(3)))).toHaveLength(3);
    expect(words(map(bound(3), bound(3)), check, map(bound(3), temp(3)))).toHaveLength(2);
    const whole = (n: number) => dense(new Buffer('bound', 4 * n), int32, [n]);
    const divide = () => map(whole(3), whole(3), e.div(e.input(0, int32), 2));
    expect(words(divide(), divide())).toHaveLength(2);
  });

  it('do not come much earlier than they are needed', () => {
    const a = bound(3);
    const chain = Array.from({ length: 8 }, () => temp(3));
    const program = chain.map((t, i) => map(i === 0 ? a : chain[i - 1]!, t));
    expect(words(...program, map(a, bound(3), e.sin(x))).indexOf('map [3] neg(x0) | map [3] sin(x0)')).toBe(4);
  });
});
