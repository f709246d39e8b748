/** @file Every case of every op on every device: shapes, values, gradients, GraphDef round trip; and that there are cases. */
import { describe, expect, it } from 'vitest';
import '../../src/ops/index.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import type { Device } from '../../src/devices/device.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { checkAttr, floats } from '../../src/op/attrs.ts';
import type { AnyCase, ValueCase } from '../../src/op/cases.ts';
import { defineOp } from '../../src/op/defineOp.ts';
import { type OpDefinition, registry } from '../../src/op/registry.ts';
import { multiply } from '../../src/ops/math/index.ts';
import { mul, pointwise } from '../../src/program/map.ts';
import { withoutGradientCheck, withoutShapeCase, withoutValueCase } from './caseGaps.ts';
import { checkGradient, checkRoundTrip, checkShape, checkValues } from './checkOp.ts';
import { isShapeCase } from './opCases.ts';

const native = CpuDevice.open();
const reference = new ReferenceDevice();
const devices: readonly (readonly [string, Device])[] = [
  ['reference', reference],
  ...(native ? [['cpu', native] as const] : []),
];
const ops = [...registry.values()];

/** A case as a short title. */
function title(c: AnyCase, i: number): string {
  if (isShapeCase(c)) return `${i}: shape ${c.shape}${c.attrs ? ` ${show(c.attrs)}` : ''}`;
  return `${i}: ${show(c.given)}${c.attrs ? ` ${show(c.attrs)}` : ''}`;
}

function show(value: unknown): string {
  const text = JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? `${v}n` : v)) ?? '';
  return text.length > 100 ? `${text.slice(0, 97)}...` : text;
}

for (const op of ops.filter((op) => op.cases().length > 0))
  describe(op.name, () => {
    for (const [i, c] of op.cases().entries()) {
      if (isShapeCase(c)) {
        it(title(c, i), () => checkShape(op, c));
        continue;
      }
      for (const [name, device] of devices)
        it(`${name} ${title(c, i)}`, async () => {
          await checkValues(op, c, device);
        });
      it(`gradient and round trip ${title(c, i)}`, async () => {
        await checkGradient(op, c, native ?? reference);
        await checkRoundTrip(op, c, native ?? reference);
      });
    }
  });

describe('the cases', () => {
  it('every op has a shape case', () => {
    const missing = ops.filter((op) => !op.cases().some(isShapeCase)).map((op) => op.name);
    expect(missing.filter((name) => !(name in withoutShapeCase))).toEqual([]);
  });

  it('every op has a value case', () => {
    const missing = ops.filter((op) => !op.cases().some((c) => !isShapeCase(c))).map((op) => op.name);
    expect(missing.filter((name) => !(name in withoutValueCase))).toEqual([]);
  });

  it('every reason for a missing case belongs to an op that still lacks it', () => {
    const has = (name: string, shape: boolean) =>
      registry
        .get(name)
        ?.cases()
        .some((c) => isShapeCase(c) === shape);
    expect(Object.keys(withoutShapeCase).filter((name) => has(name, true) !== false)).toEqual([]);
    expect(Object.keys(withoutValueCase).filter((name) => has(name, false) !== false)).toEqual([]);
  });

  it('every differentiable op has its gradient checked by some case', async () => {
    const unchecked: string[] = [];
    for (const op of ops) {
      if (typeof op.gradient !== 'function') continue;
      const outcomes: (string | undefined)[] = [];
      for (const c of op.cases())
        if (!isShapeCase(c)) outcomes.push(await checkGradient(op, c, reference).catch(() => undefined));
      if (!outcomes.includes(undefined)) unchecked.push(op.name);
    }
    expect(unchecked.filter((name) => !(name in withoutGradientCheck))).toEqual([]);
    expect(Object.keys(withoutGradientCheck).filter((name) => !unchecked.includes(name))).toEqual([]);
  });

  it('op definitions are complete', () => {
    for (const op of ops) {
      for (const [name, spec] of Object.entries(op.attrSpecs))
        if (spec.default !== undefined) expect(() => checkAttr(name, spec, spec.default), op.name).not.toThrow();
      for (const port of [...op.inputPorts, ...op.outputPorts])
        for (const name of [port.typeAttr, port.numberAttr, port.typeListAttr])
          if (name !== undefined) expect(Object.keys(op.attrSpecs), `${op.name} port ${port.name}`).toContain(name);
    }
  });
});

describe('the harness', () => {
  /** x squared, with a derivative that is too large by `factor`. */
  const square = (name: string, factor: number): OpDefinition =>
    defineOp({
      name,
      inputs: { x: 'T' },
      outputs: { y: 'T' },
      attrs: { T: floats },
      shape: ({ x }) => ({ y: x }),
      grad: ({ inputs: { x } }, dy) => ({ x: multiply(multiply(dy.y, x), 2 * factor) }),
      lower: pointwise((x) => mul(x, x)),
      cases: () => [],
    });
  const c: ValueCase = { given: { x: [1.5, -2] }, expect: { y: [2.25, 4] } };

  it('accepts a right gradient', async () => {
    expect(await checkGradient(square('RightSquare', 1), c, reference)).toBeUndefined();
  });
  it('fails on a wrong gradient', async () => {
    await expect(checkGradient(square('WrongSquare', 1.001), c, reference)).rejects.toThrow(/central differences/);
  });
  it('fails on a wrong value', async () => {
    const wrong: ValueCase = { given: { x: [1.5] }, expect: { y: [2.2501] } };
    await expect(checkValues(square('ValueSquare', 1), wrong, reference)).rejects.toThrow(/differs by/);
  });
  it('fails on a wrong shape', () => {
    expect(() => checkShape(square('ShapeSquare', 1), { shape: '[2, ?] -> [2, 3]' })).toThrow(/\[2, 3\]/);
  });
});
