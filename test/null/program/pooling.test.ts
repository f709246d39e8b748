import { describe, expect, it } from 'vitest';
import { type DType, float32, int32, int64 } from '../../../src/core/dtypes.ts';
import { finish } from '../../../src/core/eventLoop.ts';
import * as e from '../../../src/program/expr.ts';
import { Buffer, type DeviceInstruction, type View } from '../../../src/program/instructions.ts';
import { maskGradients } from '../../../src/program/pooling.ts';
import { dense, transposeView } from '../../../src/program/value.ts';

/** The gradient of a pool of x and a map behind it. */
function program(mask: (gradient: e.Expr, x: e.Expr) => e.Expr, dtype: DType = float32, seen = (v: View) => v) {
  const array = (kind: 'bound' | 'temp', ...shape: number[]) =>
    dense(new Buffer(kind, 4 * shape.reduce((n, d) => n * d, 1)), dtype, shape);
  const [x, dy, gradient, result] = [
    ...[array('bound', 2, 4, 4, 3), array('bound', 2, 2, 2, 3), array('temp', 2, 4, 4, 3), array('bound', 2, 4, 4, 3)],
  ] as [View, View, View, View]; // four
  const spans = [0, 1].map(() => dense(new Buffer('bound', 32), int64, [2, 2]));
  const pool: DeviceInstruction = { kind: 'window', op: 'maxGradient', inputs: [x, dy], spans, output: gradient };
  const map: DeviceInstruction = {
    ...{ kind: 'map', shape: gradient.shape, inputs: [gradient, seen(x)], outputs: [result] },
    ...{ results: [mask(e.input(0, dtype), e.input(1, dtype))], node: 'mask' },
  };
  return { pool, map, x, dy, gradient, result };
}

const heldBack = (gradient: e.Expr) => e.mul(gradient, 0);
const rectifier = (gradient: e.Expr, x: e.Expr) => e.select(e.gt(x, 0), gradient, heldBack(gradient));

describe('a mask behind the gradient of a pool', () => {
  it('becomes part of it', () => {
    const { pool, map, x, dy, result } = program(rectifier);
    const joined = { kind: 'window', op: 'positiveMaxGradient', inputs: [x, dy], output: result, node: 'mask' };
    expect(finish(maskGradients([pool, map], new Set()))).toMatchObject([joined]);
  });

  it('stays where it is if it is another mask, or of something else', () => {
    const apart = ({ pool, map }: ReturnType<typeof program>) =>
      finish(maskGradients([pool, map], new Set())).length === 2;
    expect(apart(program((gradient, x) => e.select(e.gt(x, 1), gradient, heldBack(gradient))))).toBe(true);
    expect(apart(program((gradient, x) => e.select(e.gt(x, 0), gradient, 0)))).toBe(true);
    expect(apart(program((gradient, x) => e.select(e.gt(x, 0), gradient, e.mul(gradient, 1))))).toBe(true);
    expect(apart(program((gradient, x) => e.select(e.gt(x, 0), gradient, e.mul(x, 0))))).toBe(true);
    expect(apart(program((gradient, x) => e.select(e.ge(x, 0), gradient, heldBack(gradient))))).toBe(true);
    expect(apart(program((gradient, x) => e.select(e.gt(x, 0), x, heldBack(gradient))))).toBe(true);
    expect(apart(program((gradient) => e.select(e.gt(gradient, 0), gradient, heldBack(gradient))))).toBe(true);
    expect(apart(program(rectifier, float32, (v) => transposeView(v, [0, 2, 1, 3])))).toBe(true);
    expect(apart(program(rectifier, int32))).toBe(true);
    expect(apart(program(rectifier, float32, (v) => ({ ...v, offset: 1 })))).toBe(true);
    expect(apart(program(rectifier, float32, (v) => ({ ...v, dtype: int32 })))).toBe(true);
  });

  const changeOf = (v: View): DeviceInstruction => ({
    ...{ kind: 'map', shape: v.shape, inputs: [v], outputs: [v], results: [e.neg(e.input(0, float32))] },
  });

  it('becomes part of it before what it comes from changes', () => {
    const { pool, map, dy } = program(rectifier);
    const change = changeOf(dy);
    expect(finish(maskGradients([pool, change, map], new Set()))).toMatchObject([
      { op: 'positiveMaxGradient' },
      change,
    ]);
  });

  it('stays where it is if others look at the gradient, or if what both read changes between them', () => {
    const { pool, map, gradient, x } = program(rectifier);
    expect(finish(maskGradients([pool, map], new Set([gradient.buffer])))).toHaveLength(2);
    expect(finish(maskGradients([pool, map, map], new Set()))).toHaveLength(3);
    expect(finish(maskGradients([pool, changeOf(x), map], new Set()))).toHaveLength(3);
  });

  it('stays where it is if it writes what the gradient still reads', () => {
    const { pool, map, x } = program(rectifier);
    expect(finish(maskGradients([pool, { ...map, outputs: [x] }], new Set()))).toHaveLength(2);
  });
});
