import { describe, expect, it } from 'vitest';
import { float32, int64 } from '../../../src/core/dtypes.ts';
import { finish } from '../../../src/core/eventLoop.ts';
import { ReferenceDevice } from '../../../src/devices/reference/device.ts';
import { readsOf, writesOf } from '../../../src/program/access.ts';
import { groupRows } from '../../../src/program/blocks.ts';
import { describe as inWords } from '../../../src/program/describe.ts';
import * as e from '../../../src/program/expr.ts';
import {
  Buffer,
  type ConvInstruction,
  type DeviceInstruction,
  type ReduceOp,
  type View,
} from '../../../src/program/instructions.ts';
import { planSegment } from '../../../src/program/plan.ts';
import { broadcastView, dense, reshapeView, transposeView } from '../../../src/program/value.ts';

const [x0, x1] = [e.input(0, float32), e.input(1, float32)];
const size = (shape: readonly number[]) => shape.reduce((n, d) => n * d, 1);
const temp = (...shape: number[]) => dense(new Buffer('temp', 4 * size(shape)), float32, shape);
const bound = (...shape: number[]) => dense(new Buffer('bound', 4 * size(shape)), float32, shape);
const map = (inputs: View[], output: View, result: e.Expr): DeviceInstruction => ({
  kind: 'map',
  shape: output.shape,
  inputs: inputs.map((v) => broadcastView(v, output.shape)),
  outputs: [output],
  results: [result],
});
const reduce = (op: ReduceOp, input: View, axes: number[], output: View, result: e.Expr = x0): DeviceInstruction => ({
  kind: 'reduce',
  op,
  shape: input.shape,
  axes,
  inputs: [input],
  result,
  output,
});
const column = (v: View) => reshapeView(v, [...v.shape, 1])!;
const words = (program: DeviceInstruction[], keep: Buffer[] = []) =>
  finish(groupRows(program, new Set(keep))).map((i) => inWords(i));

/** The passes of a softmax over the last axis of logits. */
function softmax(logits: View, output: View): DeviceInstruction[] {
  const rows = logits.shape.slice(0, -1);
  const last = logits.shape.length - 1;
  const [largest, shifted, total] = [temp(...rows), temp(...logits.shape), temp(...rows)];
  return [
    reduce('max', logits, [last], largest),
    map([logits, column(largest)], shifted, e.sub(x0, x1)),
    reduce('sum', shifted, [last], total, e.exp(x0)),
    map([shifted, column(total)], output, e.div(e.exp(x0), x1)),
  ];
}

describe('instructions over the same rows', () => {
  const [logits, output] = [bound(4, 64, 64), bound(4, 64, 64)];

  it('are one: softmax', () => {
    const [only, ...rest] = finish(groupRows(softmax(logits, output), new Set()));
    expect(rest).toEqual([]);
    expect(only).toMatchObject({ kind: 'blocks', rows: 256, steps: [{}, {}, {}, {}] });
    // What lies between the passes needs no memory of its own.
    expect(only?.kind === 'blocks' && only.locals.size).toBe(3);
    expect(planSegment(softmax(logits, output), new Set()).arenaBytes).toBe(0);
  });

  it('give what they gave one by one', () => {
    const run = (instructions: readonly DeviceInstruction[]) => {
      const segment = planSegment(instructions, new Set([output.buffer]));
      const memory = segment.bound.map((b) => new Float32Array(b.bytes / 4).map((_, i) => Math.sin(i)));
      const views = memory.map((m) => ({ bytes: m.byteLength, host: new Uint8Array(m.buffer) }));
      new ReferenceDevice().compile(segment).run(views);
      return [...memory[segment.bound.indexOf(output.buffer)]!];
    };
    const together = run(softmax(logits, output));
    const row = together.slice(64, 128).reduce((sum, x) => sum + x, 0);
    expect(row).toBeCloseTo(1, 5);
    const values = Array.from({ length: 64 }, (_, i) => Math.exp(Math.fround(Math.sin(i + 64))));
    const total = values.reduce((sum, x) => sum + x, 0);
    for (const [i, x] of values.entries()) expect(together[64 + i]).toBeCloseTo(x / total, 5);
  });

  it('keep what is wanted later', () => {
    const program = softmax(logits, output);
    const largest = (program[0] as { output: View }).output;
    const [only] = finish(groupRows(program, new Set([largest.buffer])));
    expect(only?.kind === 'blocks' && only.locals.has(largest.buffer)).toBe(false);
    expect(only?.kind === 'blocks' && only.locals.size).toBe(2);
  });

  it('take in reductions across the rows, but not what reads them', () => {
    const [x, shifted, bias, scaled] = [bound(128, 128), temp(128, 128), temp(128), bound(128, 128)];
    const program = [
      map([x], shifted, e.sub(x0, 1)),
      reduce('sum', shifted, [0], bias),
      reduce('sum', shifted, [1], bound(128)),
      map([shifted, bias], scaled, e.mul(x0, x1)),
    ];
    expect(words(program)).toEqual([
      'blocks of 128 rows: map [128, 128] x0 - 1; reduce [128, 128] over 0 sum of x0; reduce [128, 128] over 1 sum of x0',
      'map [128, 128] x0 * x1',
    ]);
  });

  it('share what they read', () => {
    const x = bound(128, 128);
    expect(words([reduce('sum', x, [0], bound(128)), reduce('max', x, [0], bound(128))])).toHaveLength(1);
    const other = bound(128, 128);
    expect(words([reduce('sum', x, [0], bound(128)), reduce('max', other, [0], bound(128))])).toHaveLength(2);
  });

  it('stay apart when one reads the rows of another in another order', () => {
    const [x, y] = [bound(128, 128), temp(128, 128)];
    const turned = [map([x], y, e.neg(x0)), map([transposeView(y, [1, 0])], bound(128, 128), e.exp(x0))];
    expect(words(turned)).toHaveLength(2);
    const reversed = { ...y, strides: [-128, 1], offset: 127 * 128 };
    expect(words([map([x], y, e.neg(x0)), map([reversed], bound(128, 128), e.exp(x0))])).toHaveLength(2);
  });

  it('stay apart when small, when their rows are few, or when they depend on the row they are at', () => {
    expect(finish(groupRows(softmax(bound(8, 8), bound(8, 8)), new Set()))).toHaveLength(4);
    expect(finish(groupRows(softmax(bound(4, 8192), bound(4, 8192)), new Set()))).toHaveLength(4);
    const [x, y] = [bound(128, 128), temp(128, 128)];
    const position = e.cast(e.index(0), float32);
    expect(words([map([x], y, e.add(x0, position)), reduce('sum', y, [1], bound(128))])).toHaveLength(2);
  });

  it('let other instructions pass only where nothing changes', () => {
    const [x, y, z] = [bound(128, 128), temp(128, 128), bound(128, 128)];
    const first = map([x], y, e.neg(x0));
    const last = map([y], bound(128, 128), e.exp(x0));
    const check: DeviceInstruction = { kind: 'check', input: bound(1) };
    expect(words([first, check, last])).toEqual(['check [1] -> ', 'map [16384] exp(neg(x0))']);
    // What a failed check leaves behind is the same as without joining: the first has run, the last has not.
    const kept = map([x], z, e.neg(x0));
    expect(words([kept, check, map([z], bound(128, 128), e.exp(x0))])).toHaveLength(3);
    // What the first reads is overwritten before the last could let it wait, and the last reads what is written then.
    const overwrite: DeviceInstruction = {
      kind: 'scan',
      op: 'sum',
      input: z,
      output: x,
      exclusive: false,
      reverse: false,
    };
    expect(words([first, overwrite, map([y, x], bound(128, 128), e.add(x0, x1))])).toHaveLength(3);
  });

  it('are one map with several results where all are maps', () => {
    const [x, y] = [bound(4, 8), bound(4, 8)];
    const [forget, cell, squashed, kept] = [temp(4, 8), temp(4, 8), temp(4, 8), temp(4, 8)];
    const program = [
      map([x], forget, e.sigmoid(x0)),
      map([forget, y], cell, e.mul(x0, x1)),
      map([cell], squashed, e.tanh(x0)),
      map([squashed, forget], kept, e.add(x0, x1)),
    ];
    const [only, ...rest] = finish(groupRows(program, new Set([cell.buffer, kept.buffer])));
    expect(rest).toEqual([]);
    expect(inWords(only!)).toBe('map [32] sigmoid(x0) * x1, tanh(sigmoid(x0) * x1) + sigmoid(x0)');
  });

  it('are one map that writes the pieces of an array', () => {
    const [x, whole] = [bound(32, 64), temp(32, 128)];
    const left = { ...whole, shape: [32, 64] };
    const right = { ...left, offset: 64 };
    const pieces = [map([x], left, e.neg(x0)), map([x], right, e.exp(x0))];
    expect(words(pieces, [whole.buffer])).toEqual(['map [32, 64] neg(x0), exp(x0)']);
    const overlapping = map([x], { ...right, offset: 63 }, e.exp(x0));
    expect(words([pieces[0]!, overlapping], [whole.buffer])).toHaveLength(2);
    // What reads the array reads all of it, so it is no part of the map.
    expect(words([...pieces, map([whole], bound(32, 128), e.sin(x0))])).toHaveLength(2);
  });

  it('do not become one map where an update would come too early', () => {
    const owner = {};
    const [old, updated] = [
      { ...bound(4, 8), buffer: new Buffer('bound', 128, undefined, owner) },
      { ...bound(4, 8), buffer: new Buffer('bound', 128, undefined, owner) },
    ];
    const turned = map([transposeView(dense(old.buffer, float32, [8, 4]), [1, 0])], bound(4, 8), e.neg(x0));
    const update = map([bound(4, 8)], updated, x0);
    expect(words([turned, update])).toHaveLength(2);
  });

  it('take in products with as many matrices as there are rows', () => {
    const [q, k, v] = [bound(16, 32, 8), bound(16, 8, 32), bound(16, 32, 8)];
    const [scores, weights, mixed] = [temp(16, 32, 32), temp(16, 32, 32), bound(16, 32, 8)];
    const attention: DeviceInstruction[] = [
      { kind: 'dot', a: q, b: k, output: scores },
      ...softmax(scores, weights),
      { kind: 'dot', a: weights, b: v, output: mixed },
    ];
    const [only, ...rest] = finish(groupRows(attention, new Set()));
    expect(rest).toEqual([]);
    expect(only).toMatchObject({ kind: 'blocks', rows: 16 });
  });

  /** The parts of a convolutional layer over [rows, 28, 28, 1], and of its gradient. */
  function layer(rows: number, features = 32) {
    const [image, filter, bias] = [bound(rows, 28, 28, 1), bound(5, 5, 1, features), bound(features)];
    const wide = () => temp(rows, 28, 28, features);
    const spans = [0, 1].map(() => dense(new Buffer('constant', 14 * 16, new Uint8Array(14 * 16)), int64, [14, 2]));
    const [product, active, gradient, masked] = [wide(), wide(), wide(), wide()];
    const pooled = () => bound(rows, 14, 14, features);
    const imagesOf = (v: View) => reshapeView(transposeView(v, [0, 3, 1, 2]), [rows, 1, v.shape[3]!, 28, 28])!;
    const conv = {
      kind: 'conv',
      strides: [1, 1],
      dilations: [1, 1],
      before: [2, 2],
      input: imagesOf(image),
      filter: reshapeView(transposeView(filter, [3, 2, 0, 1]), [1, features, 1, 5, 5])!,
    } as const;
    const forward: DeviceInstruction[] = [
      { ...conv, result: 'output', output: imagesOf(product) },
      map([product, bias], active, e.max(e.add(x0, x1), 0)),
      { kind: 'window', op: 'max', inputs: [active], spans, output: pooled() },
    ];
    const pool = { kind: 'window', op: 'maxGradient', inputs: [active, pooled()], spans, output: gradient } as const;
    const mask = map([gradient, active], masked, e.select(e.gt(x1, 0), x0, 0));
    const flat = reshapeView(masked, [rows * 28 * 28, features])!;
    const gradients: DeviceInstruction[] = [
      reduce('sum', flat, [0], bound(features)),
      { ...conv, result: 'filter', output: imagesOf(masked) },
    ];
    return { forward, pool, mask, gradients, product, active, masked };
  }

  it('are images: a convolution, its bias and its pool', () => {
    const { forward, active, product } = layer(64);
    const [only, ...rest] = finish(groupRows(forward, new Set([active.buffer])));
    expect(rest).toEqual([]);
    expect(only).toMatchObject({
      kind: 'blocks',
      rows: 64,
      steps: [{ kind: 'conv' }, { kind: 'map' }, { kind: 'window' }],
    });
    // The product is computed where the map leaves its result.
    const touched = new Set([...readsOf(only!), ...writesOf(only!)].map((v) => v.buffer));
    expect(touched.has(active.buffer)).toBe(true);
    expect(touched.has(product.buffer)).toBe(false);
    expect(only?.kind === 'blocks' && only.locals.size).toBe(0);
    expect(planSegment(forward, new Set([active.buffer])).arenaBytes).toBe(0);
  });

  it('are images: the gradient of a pool, and what sums it over the batch', () => {
    const { pool, mask, gradients, active } = layer(64);
    const [only, ...rest] = finish(groupRows([pool, mask, ...gradients], new Set([active.buffer])));
    expect(rest).toEqual([]);
    expect(only && inWords(only)).toBe(
      'blocks of 64 rows: window [64, 28, 28, 32], [64, 14, 14, 32], [14, 2], [14, 2] -> [64, 28, 28, 32]; ' +
        'map [64, 28, 28, 32] select(x1 > 0, x0, 0); reduce [64, 784, 32] over 0,1 sum of x0; ' +
        'conv [64, 1, 1, 28, 28], [64, 1, 32, 28, 28] -> [1, 32, 1, 5, 5]',
    );
    expect(only?.kind === 'blocks' && only.locals.size).toBe(1);
  });

  it('are no images where these are few or large, or a convolution is', () => {
    const kinds = ({ forward, active }: ReturnType<typeof layer>) =>
      finish(groupRows(forward, new Set([active.buffer]))).map((i) => i.kind);
    expect(kinds(layer(4))).toEqual(['conv', 'map', 'window']);
    expect(kinds(layer(64, 48))).toEqual(['conv', 'map', 'window']);
    const { forward, active } = layer(64);
    const many = { ...(forward[0] as ConvInstruction), filter: bound(1, 32, 1, 9, 9) };
    expect(finish(groupRows([many, ...forward.slice(1)], new Set([active.buffer]))).map((i) => i.kind)).toEqual([
      'conv',
      'blocks',
    ]);
  });

  it('take the place of what they read in the arena', () => {
    const { forward, active } = layer(64);
    const many = { ...(forward[0] as ConvInstruction), filter: bound(1, 32, 1, 9, 9) };
    const points = 64 * 28 * 28 * 32;
    const later: DeviceInstruction = {
      ...{ kind: 'scan', op: 'sum', exclusive: false, reverse: false },
      ...{ input: reshapeView(active, [1, points, 1])!, output: bound(1, points, 1) },
    };
    expect(planSegment([many, ...forward.slice(1), later], new Set()).arenaBytes).toBe(4 * points);
  });

  it('do not read a filter that they make', () => {
    // As many groups as images, so that a filter looks as if it had rows.
    const [image, output, filter] = [bound(64, 64, 4, 64), bound(64, 64, 4, 64), temp(64, 4, 4, 1)];
    const conv: DeviceInstruction = {
      ...{ kind: 'conv', result: 'output', strides: [1], dilations: [1], before: [0] },
      ...{ input: image, filter, output },
    };
    expect(words([map([bound(64, 4, 4, 1)], filter, e.neg(x0)), conv])).toHaveLength(2);
  });
});
