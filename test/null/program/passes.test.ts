import { describe, expect, it } from 'vitest';
import { float32 } from '../../../src/core/dtypes.ts';
import { finish } from '../../../src/core/eventLoop.ts';
import { ReferenceDevice } from '../../../src/devices/reference/device.ts';
import * as e from '../../../src/program/expr.ts';
import { fuse } from '../../../src/program/fuse.ts';
import { countNodes, rebuild } from '../../../src/program/inspect.ts';
import {
  Buffer,
  type DeviceInstruction,
  type MapInstruction,
  type Segment,
} from '../../../src/program/instructions.ts';
import { protectReads, removeDead } from '../../../src/program/passes.ts';
import { planning, planSegment } from '../../../src/program/plan.ts';
import { dense, transposeView } from '../../../src/program/value.ts';

const x = e.input(0, float32);
const temp = (n: number) => new Buffer('temp', n * 4);
const bound = (n: number, owner?: object) => new Buffer('bound', n * 4, undefined, owner);
const view = (b: Buffer, shape = [b.bytes / 4]) => dense(b, float32, shape);
/** to = f(from), elementwise. */
const unary = (from: Buffer, to: Buffer, body: e.Expr): DeviceInstruction => ({
  kind: 'map',
  shape: [from.bytes / 4],
  inputs: [view(from)],
  outputs: [view(to)],
  results: [body],
});

/** Runs a segment on the reference device with these contents of its bound buffers; gives their contents afterwards. */
function run(
  segment: Segment,
  contents: Map<Buffer, number[]>,
  storage = (b: Buffer): object => b,
): Map<object, number[]> {
  const device = new ReferenceDevice();
  const memory = new Map<object, Float32Array>();
  for (const [buffer, values] of contents) memory.set(storage(buffer), Float32Array.from(values));
  const buffers = segment.bound.map((b) => {
    const data = memory.get(storage(b)) ?? new Float32Array(b.bytes / 4);
    memory.set(storage(b), data);
    return { bytes: b.bytes, host: new Uint8Array(data.buffer) };
  });
  device.compile(segment).run(buffers);
  return new Map([...memory].map(([key, data]) => [key, [...data]]));
}

describe('removeDead', () => {
  it('drops what nobody reads and keeps effects', () => {
    const [a, unused, used, out] = [bound(2), temp(2), temp(2), bound(2)];
    const dead = unary(a, unused, e.neg(x));
    const live = [unary(a, used, e.neg(x)), unary(used, out, e.exp(x))];
    const check: DeviceInstruction = { kind: 'check', input: { ...view(a), dtype: float32 } };
    expect(finish(removeDead([dead, ...live, check], new Set()))).toEqual([...live, check]);
    expect(finish(removeDead([dead], new Set([unused])))).toEqual([dead]);
  });
});

describe('fuse', () => {
  it('moves a map into its only reader', () => {
    const [a, t, out] = [bound(4), temp(4), bound(4)];
    const fused = finish(fuse([unary(a, t, e.add(x, 1)), unary(t, out, e.mul(x, x))], new Set()));
    expect(fused).toHaveLength(1);
    const segment = planSegment(fused, new Set());
    expect(run(segment, new Map([[a, [1, 2, 3, 4]]])).get(out)).toEqual([4, 9, 16, 25]);
  });

  it('keeps a map that two instructions read, or that is wanted later', () => {
    const [a, t, o1, o2] = [bound(4), temp(4), bound(4), bound(4)];
    const program = [unary(a, t, e.add(x, 1)), unary(t, o1, e.neg(x)), unary(t, o2, e.exp(x))];
    expect(finish(fuse(program, new Set()))).toHaveLength(3);
    expect(finish(fuse(program.slice(0, 2), new Set([t])))).toHaveLength(2);
  });

  it('does not read a buffer later than it is overwritten', () => {
    const [a, t, out] = [bound(2), temp(2), bound(2)];
    const overwrite = unary(out, a, e.neg(x));
    expect(finish(fuse([unary(a, t, e.add(x, 1)), overwrite, unary(t, out, e.neg(x))], new Set()))).toHaveLength(3);
  });

  it('does not fuse through a transposed view', () => {
    const [a, t, out] = [bound(4), temp(4), bound(4)];
    const first: DeviceInstruction = {
      kind: 'map',
      shape: [2, 2],
      inputs: [view(a, [2, 2])],
      outputs: [view(t, [2, 2])],
      results: [e.neg(x)],
    };
    const second: DeviceInstruction = {
      kind: 'map',
      shape: [2, 2],
      inputs: [transposeView(view(t, [2, 2]), [1, 0])],
      outputs: [view(out, [2, 2])],
      results: [x],
    };
    const program = finish(fuse([first, second], new Set()));
    expect(program).toHaveLength(2);
    expect(run(planSegment(program, new Set()), new Map([[a, [1, 2, 3, 4]]])).get(out)).toEqual([-1, -3, -2, -4]);
  });

  it('does not fuse what is read in two ways', () => {
    const [a, t, out] = [bound(4), temp(4), bound(4)];
    const square = (buffer: Buffer) => view(buffer, [2, 2]);
    const first: DeviceInstruction = {
      kind: 'map',
      shape: [2, 2],
      inputs: [square(a)],
      outputs: [square(t)],
      results: [e.neg(x)],
    };
    const second: DeviceInstruction = {
      kind: 'map',
      shape: [2, 2],
      inputs: [square(t), transposeView(square(t), [1, 0])],
      outputs: [square(out)],
      results: [e.add(x, e.input(1, float32))],
    };
    const program = planSegment(finish(fuse([first, second], new Set())), new Set());
    expect(run(program, new Map([[a, [1, 2, 3, 4]]])).get(out)).toEqual([-2, -5, -5, -8]);
  });

  it('fuses into a reduction and shares repeated inputs', () => {
    const [a, t, out] = [bound(4), temp(4), bound(1)];
    const sum: DeviceInstruction = {
      kind: 'reduce',
      op: 'sum',
      shape: [4],
      axes: [0],
      inputs: [view(t), view(a)],
      result: e.mul(x, e.input(1, float32)),
      output: view(out, []),
    };
    const [only] = finish(fuse([unary(a, t, e.add(x, 1)), sum], new Set()));
    expect(only).toMatchObject({ kind: 'reduce', inputs: [{ buffer: a }] });
    expect(run(planSegment([only!], new Set()), new Map([[a, [1, 2, 3, 4]]])).get(out)).toEqual([40]);
  });

  it('stays linear on a long chain', () => {
    const buffers = Array.from({ length: 2001 }, () => temp(2));
    const a = bound(2);
    const chain = buffers.map((b, i) => unary(i === 0 ? a : buffers[i - 1]!, b, e.add(x, 1)));
    const last = buffers.at(-1)!;
    const segment = planSegment(chain, new Set([last]));
    expect(segment.instructions.length).toBeLessThan(100);
    expect(run(segment, new Map([[a, [0, 5]]])).get(last)).toEqual([2001, 2006]);
  });
});

describe('protectReads', () => {
  const protectedReads = (program: readonly DeviceInstruction[]) => finish(protectReads(program));

  it('copies an old version that is read after the write', () => {
    const variable = {};
    const [v0, v1, out] = [bound(2, variable), bound(2, variable), bound(2)];
    const program = protectedReads([unary(v0, v1, e.add(x, 1)), unary(v0, out, x)]);
    expect(program).toHaveLength(3);
    const segment = planSegment(program, new Set());
    const after = run(segment, new Map([[v0, [1, 2]]]), (b) => b.owner ?? b);
    expect(after.get(variable)).toEqual([2, 3]);
    expect(after.get(out)).toEqual([1, 2]);
  });

  it('copies an old version of another size too', () => {
    const variable = {};
    const [v0, v1, out] = [bound(2, variable), bound(4, variable), bound(2)];
    const program = protectedReads([unary(bound(4), v1, x), unary(v0, out, x)]);
    expect(program.map((i) => i.kind === 'map' && i.inputs[0]!.buffer === v0)).toEqual([true, false, false]);
  });

  it('leaves reads before the write alone', () => {
    const variable = {};
    const [v0, v1, out] = [bound(2, variable), bound(2, variable), bound(2)];
    expect(protectedReads([unary(v0, out, x), unary(v0, v1, e.add(x, 1))])).toHaveLength(2);
  });

  it('copies when the write reads its own target in another order', () => {
    const variable = {};
    const [v0, v1] = [bound(4, variable), bound(4, variable)];
    const turn: DeviceInstruction = {
      kind: 'map',
      shape: [2, 2],
      inputs: [transposeView(view(v0, [2, 2]), [1, 0])],
      outputs: [view(v1, [2, 2])],
      results: [x],
    };
    const segment = planSegment(protectedReads([turn]), new Set());
    expect(run(segment, new Map([[v0, [1, 2, 3, 4]]]), (b) => b.owner ?? b).get(variable)).toEqual([1, 3, 2, 4]);
  });
});

describe('the memory plan', () => {
  it('uses the space of dead temporaries again', () => {
    const temps = Array.from({ length: 10 }, () => temp(1000));
    const a = bound(1000);
    const flipped = (b: Buffer) => ({ ...view(b), strides: [-1], offset: 999 });
    const chain = temps.map(
      (to, i): DeviceInstruction => ({
        kind: 'map',
        shape: [1000],
        inputs: [flipped(i === 0 ? a : temps[i - 1]!)],
        outputs: [view(to)],
        results: [e.add(x, 1)],
      }),
    );
    const last = temps.at(-1)!;
    const segment = planSegment(chain, new Set([last]));
    expect(segment.arenaBytes).toBeLessThanOrEqual(2 * 4032);
    expect(segment.bound).toContain(last);
    expect(run(segment, new Map([[a, new Array(1000).fill(0)]])).get(last)![0]).toBe(10);
  });

  it('lets the result of a map take the place of an input that ends with it', () => {
    const [a, first, second, out] = [bound(1000), temp(1000), temp(1000), bound(1000)];
    const scan = (from: Buffer, to: Buffer): DeviceInstruction => ({
      kind: 'scan',
      op: 'sum',
      input: view(from, [1, 1000, 1]),
      output: view(to, [1, 1000, 1]),
      exclusive: false,
      reverse: false,
    });
    const program = [scan(a, first), unary(first, second, e.mul(x, 2)), scan(second, out)];
    const segment = planSegment(program, new Set());
    expect(segment.arena.get(second)).toBe(segment.arena.get(first));
    expect(run(segment, new Map([[a, new Array(1000).fill(1)]])).get(out)![2]).toBe(2 + 4 + 6);
    // Read once more afterwards, or in another order, the input keeps its place.
    const later = planSegment([...program, scan(first, bound(1000))], new Set());
    expect(later.arena.get(second)).not.toBe(later.arena.get(first));
    const backwards = { ...(program[1] as MapInstruction), inputs: [{ ...view(first), strides: [-1], offset: 999 }] };
    const turned = planSegment([program[0]!, backwards, program[2]!], new Set());
    expect(turned.arena.get(second)).not.toBe(turned.arena.get(first));
  });

  it('goes through sums of any length', () => {
    const addends = Array.from({ length: 20_000 }, () => bound(4));
    const sum = addends.map((_, i) => e.input(i, float32)).reduce((so, next) => e.add(so, next));
    const outputs = [view(bound(4))];
    const map: DeviceInstruction = {
      kind: 'map',
      shape: [4],
      inputs: addends.map((b) => view(b)),
      outputs,
      results: [sum],
    };
    expect(planSegment([map], new Set()).instructions).toEqual([map]);
    // As far as it has to be copied.
    expect(countNodes([rebuild(sum, (index) => e.input(index, float32))])).toBe(39_999);
  });

  it('lets others have their turn between instructions', () => {
    const out = bound(4);
    const program = Array.from({ length: 100 }, () => unary(bound(4), out, e.neg(x)));
    expect([...planning(program, new Set())].length).toBeGreaterThan(1000);
  });
});
