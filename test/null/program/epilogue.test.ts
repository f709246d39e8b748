import { describe, expect, it } from 'vitest';
import { float32, int32 } from '../../../src/core/dtypes.ts';
import { finish } from '../../../src/core/eventLoop.ts';
import { describe as inWords } from '../../../src/program/describe.ts';
import { fuseEpilogues } from '../../../src/program/epilogue.ts';
import * as e from '../../../src/program/expr.ts';
import { Buffer, type DeviceInstruction, type View } from '../../../src/program/instructions.ts';
import { broadcastView, dense, reshapeView, transposeView } from '../../../src/program/value.ts';

const [x0, x1] = [e.input(0, float32), e.input(1, float32)];
const size = (shape: readonly number[]) => shape.reduce((n, d) => n * d, 1);
const temp = (...shape: number[]) => dense(new Buffer('temp', 4 * size(shape)), float32, shape);
const bound = (...shape: number[]) => dense(new Buffer('bound', 4 * size(shape)), float32, shape);
/** Two versions of one variable. */
function variable(...shape: number[]): [before: View, after: View] {
  const owner = {};
  const version = () => dense(new Buffer('bound', 4 * size(shape), undefined, owner), float32, shape);
  return [version(), version()];
}
const map = (inputs: View[], output: View, result: e.Expr): DeviceInstruction => ({
  kind: 'map',
  shape: output.shape,
  inputs: inputs.map((v) => broadcastView(v, output.shape)),
  outputs: [output],
  results: [result],
});
const dot = (a: View, b: View, output: View): DeviceInstruction => ({ kind: 'dot', a, b, output });
const fused = (program: DeviceInstruction[], keep: Buffer[] = []) =>
  finish(fuseEpilogues(program, new Set(keep))).map((i) => inWords(i));

const [a, b, c, out] = [bound(4, 3), bound(3, 5), temp(4, 5), bound(4, 5)];

describe('maps that follow a product', () => {
  it('run on its pieces: bias and activation', () => {
    expect(fused([dot(a, b, c), map([c, bound(5)], out, e.max(e.add(x0, x1), 0))])).toEqual([
      'dot [4, 3] · [3, 5] then max(x0 + x1, 0)',
    ]);
  });

  it('leave no product behind that nobody else reads', () => {
    const program = [dot(a, b, c), map([c, bound(5)], out, e.add(x0, x1))];
    expect(finish(fuseEpilogues(program, new Set()))[0]).toMatchObject({ passing: true });
    expect(finish(fuseEpilogues(program, new Set([c.buffer])))[0]).not.toHaveProperty('passing');
    expect(finish(fuseEpilogues([...program, map([c], bound(4, 5), e.neg(x0))], new Set()))[0]).not.toHaveProperty(
      'passing',
    );
  });

  it('run on the last of several products that they add', () => {
    const d = temp(4, 5);
    expect(fused([dot(a, b, c), dot(a, b, d), map([c, d], out, e.add(x0, x1))])).toEqual([
      'dot [4, 3] · [3, 5]',
      'dot [4, 3] · [3, 5] then x0 + x1',
    ]);
  });

  it('update a variable in place, before or after what stands between', () => {
    const [w, updated] = variable(4, 5);
    const update = map([w, c], updated, e.sub(x0, x1));
    const other = map([bound(7)], bound(7), e.neg(x0));
    expect(fused([dot(a, b, c), other, update])).toEqual(['dot [4, 3] · [3, 5] then x0 - x1', 'map [7] neg(x0)']);
    // The variable is read in between, so the product comes down instead.
    const reader = map([w], bound(4, 5), e.neg(x0));
    expect(fused([dot(a, b, c), reader, update])).toEqual(['map [4, 5] neg(x0)', 'dot [4, 3] · [3, 5] then x0 - x1']);
    // Neither may move: the variable is read, and the product's factor overwritten.
    const overwrite = map([bound(4, 3)], { ...a }, x0);
    expect(fused([dot(a, b, c), reader, overwrite, update])).toHaveLength(4);
  });

  it('do not change a variable before an instruction that may stop the run', () => {
    const [w, updated] = variable(4, 5);
    const check: DeviceInstruction = { kind: 'check', input: bound(1) };
    const program = [dot(a, b, c), check, map([w, c], updated, e.sub(x0, x1))];
    expect(fused(program)).toEqual(['check [1] -> ', 'dot [4, 3] · [3, 5] then x0 - x1']);
  });

  it('do not write what the product reads', () => {
    const [w, updated] = variable(3, 3);
    const squared = temp(3, 3);
    expect(fused([dot(w, w, squared), map([w, squared], updated, e.add(x0, x1))])).toHaveLength(2);
  });

  it('take on the axes of the product, whatever shape they had', () => {
    const reshaped = reshapeView(c, [2, 2, 5])!;
    const target = bound(2, 2, 5);
    expect(fused([dot(a, b, c), map([reshaped, bound(5)], target, e.add(x0, x1))])).toEqual([
      'dot [4, 3] · [3, 5] then x0 + x1',
    ]);
    const turned = map([transposeView(c, [1, 0]), bound(5, 4)], bound(5, 4), e.add(x0, x1));
    const [joined] = finish(fuseEpilogues([dot(a, b, c), turned], new Set()));
    expect(joined).toMatchObject({ after: { shape: [4, 5], outputs: [{ strides: [1, 4] }] } });
    // A bias that differs between the halves of the rows has no place in the product's shape.
    const uneven = map([reshaped, bound(2, 1, 5)], target, e.add(x0, x1));
    expect(fused([dot(a, b, c), uneven])).toHaveLength(2);
  });

  it('vanish when they only move the product', () => {
    const target = bound(5, 4);
    const [only] = finish(fuseEpilogues([dot(a, b, c), map([transposeView(c, [1, 0])], target, x0)], new Set()));
    expect(only).toEqual(dot(a, b, transposeView(target, [1, 0])));
    const twice = [dot(a, b, c), map([transposeView(c, [1, 0])], target, x0), map([c], out, e.neg(x0))];
    expect(fused(twice)).toEqual(['dot [4, 3] · [3, 5] then x0', 'map [4, 5] neg(x0)']);
  });

  it('stay apart when they see a part of the product, can fail, or need to know where they are', () => {
    const part = map([dense(c.buffer, float32, [2, 5])], bound(2, 5), e.neg(x0));
    expect(fused([dot(a, b, c), part])).toHaveLength(2);
    const whole = dense(new Buffer('temp', 80), int32, [4, 5]);
    const counted = dense(new Buffer('bound', 80), int32, [4, 5]);
    const counts: DeviceInstruction = { ...map([whole], counted, e.div(e.input(0, int32), 2)) };
    const ints = (...shape: number[]) => dense(new Buffer('bound', 4 * size(shape)), int32, shape);
    expect(fused([dot(ints(4, 3), ints(3, 5), whole), counts])).toHaveLength(2);
    const placed = map([reshapeView(c, [20])!], bound(20), e.add(x0, e.cast(e.index(0), float32)));
    expect(fused([dot(a, b, c), placed])).toHaveLength(2);
  });
});
