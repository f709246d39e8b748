/** @file LSTMBlockCell, BlockLSTM and their gradients: the step of an LSTM, or all its steps, as one op. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime, sizeOf } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import * as e from '../../program/map.ts';
import type { Value } from '../../program/value.ts';
import { mergeDim, ofRank } from '../array/common.ts';
import { concat } from '../array/concat.ts';
import { getItem } from '../array/getItem.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { matmul } from '../math/matmul.ts';
import { BiasAddGrad } from './biasAdd.ts';

const T = attr('type', { allowed: [d.float16, d.float32] });
const use_peephole = attr('bool', { default: false });
const weights = { w: 'T', wci: 'T', wcf: 'T', wco: 'T', b: 'T' } as const;
const gateNames = ['i', 'cs', 'f', 'o', 'ci', 'co', 'h'] as const;
type Gates = Readonly<Record<(typeof gateNames)[number], Value>>;
const gates = { i: 'T', cs: 'T', f: 'T', o: 'T', ci: 'T', co: 'T', h: 'T' } as const;

interface Parameters {
  readonly w: Value;
  readonly wci: Value;
  readonly wcf: Value;
  readonly wco: Value;
  readonly b: Value;
}

/** Where input, cell, forget and output gates stand in the columns of the weights. */
interface Layout {
  readonly i: number;
  readonly ci: number;
  readonly f: number;
  readonly o: number;
}
const icfo: Layout = { i: 0, ci: 1, f: 2, o: 3 };
const ifco: Layout = { i: 0, f: 1, ci: 2, o: 3 };

/** The quarter of the columns that belongs to a gate. */
function quarter(p: ProgramBuilder, all: Value, at: number): Value {
  const [rows, columns] = all.shape as readonly [number, number]; // one row per example
  return p.slice(all, [0, (at * columns) / 4], [rows, columns / 4]);
}

interface StepOptions {
  readonly layout: Layout;
  readonly forgetBias: number;
  readonly clip: number;
  readonly peephole: boolean;
}

/** One step. */
function step(
  p: ProgramBuilder,
  x: Value,
  before: { cs: Value; h: Value },
  by: Parameters,
  options: StepOptions,
): Gates {
  const { layout, forgetBias, clip, peephole } = options;
  const sums = p.map([p.dot(p.concat([x, before.h], 1), by.w), by.b], (sum, bias) => e.add(sum!, bias!));
  /** A gate, which with peepholes also looks at the cell. */
  const gate = (at: number, cell: Value, look: Value, bias = 0) => {
    const own = quarter(p, sums, at);
    if (peephole) return p.map([own, cell, look], (s, c, w) => e.sigmoid(e.add(e.add(s!, bias), e.mul(c!, w!))));
    return p.map([own], (s) => e.sigmoid(e.add(s!, bias)));
  };
  const i = gate(layout.i, before.cs, by.wci);
  const f = gate(layout.f, before.cs, by.wcf, forgetBias);
  const ci = p.map([quarter(p, sums, layout.ci)], (s) => e.tanh(s!));
  const cs = p.map([i, ci, f, before.cs], (gi, c, gf, old) => {
    const next = e.add(e.mul(gi!, c!), e.mul(gf!, old!));
    return clip > 0 ? e.min(e.max(next, -clip), clip) : next;
  });
  const o = gate(layout.o, cs, by.wco);
  const co = p.map([cs], (c) => e.tanh(c!));
  const h = p.map([o, co], (a, c) => e.mul(a!, c!));
  return { i, cs, f, o, ci, co, h };
}

/** What a step's gradients do to the sums of its gates and to the cell before it. */
function stepBack(
  p: ProgramBuilder,
  now: Gates,
  before: Value,
  by: Parameters,
  given: { cs: Value; h: Value },
  { layout, peephole }: Pick<StepOptions, 'layout' | 'peephole'>,
) {
  const slope = (y: e.Expr) => e.mul(y, e.sub(1, y));
  const output = p.map([now.o, given.h, now.co], (o, dh, co) => e.mul(slope(o!), e.mul(dh!, co!)));
  let cell = p.map([now.co, given.h, now.o, given.cs], (co, dh, o, dcs) =>
    e.add(e.mul(e.mul(e.sub(1, e.square(co!)), dh!), o!), dcs!),
  );
  if (peephole) cell = p.map([cell, output, by.wco], (c, o, w) => e.add(c!, e.mul(o!, w!)));
  const fresh = p.map([now.ci, cell, now.i], (ci, c, i) => e.mul(e.sub(1, e.square(ci!)), e.mul(c!, i!)));
  const forget = p.map([now.f, cell, before], (f, c, old) => e.mul(slope(f!), e.mul(c!, old!)));
  const input = p.map([now.i, cell, now.ci], (i, c, ci) => e.mul(slope(i!), e.mul(c!, ci!)));
  let old = p.map([cell, now.f], (c, f) => e.mul(c!, f!));
  if (peephole)
    old = p.map([old, input, by.wci, forget, by.wcf], (all, i, wi, f, wf) =>
      e.add(all!, e.add(e.mul(i!, wi!), e.mul(f!, wf!))),
    );
  const parts: Value[] = [];
  for (const [name, value] of Object.entries({ i: input, ci: fresh, f: forget, o: output }))
    parts[layout[name as keyof Layout]] = value; // the names of a layout
  const summed = (gate: Value, seen: Value) =>
    p.reduce(
      'sum',
      p.map([gate, seen], (g, c) => e.mul(g!, c!)),
      [0],
    );
  const looks = peephole
    ? { wci: summed(input, before), wcf: summed(forget, before), wco: summed(output, now.cs) }
    : { wci: zerosAs(p, by.wci), wcf: zerosAs(p, by.wcf), wco: zerosAs(p, by.wco) };
  return { sums: p.concat(parts, 1), cell: old, ...looks };
}

const zerosAs = (p: ProgramBuilder, value: Value): Value => p.fill(value.dtype, value.shape, 0);

function expectShape(name: string, value: Value, wanted: Shape): void {
  if (value.shape.length !== wanted.length || value.shape.some((size, i) => size !== wanted[i]))
    throw new InvalidArgumentError(
      `${name} has shape ${showRuntime(value.shape)}, but ${showRuntime(wanted)} is needed for the sizes of x and cs_prev.`,
    );
}

/** Checks the inputs of a step and gives its sizes. */
function checkStep(x: Value, before: { cs: Value; h: Value }, by: Parameters, rank: number) {
  if (x.shape.length !== rank)
    throw new InvalidArgumentError(`x must have rank ${rank} but has shape ${showRuntime(x.shape)}.`);
  if (before.cs.shape.length !== 2)
    throw new InvalidArgumentError(`cs_prev must be a matrix but has shape ${showRuntime(before.cs.shape)}.`);
  const [batch, inputs] = x.shape.slice(-2) as [number, number]; // of rank 2 or more
  const units = before.cs.shape[1]!;
  expectShape('cs_prev', before.cs, [batch, units]);
  expectShape('h_prev', before.h, [batch, units]);
  for (const [name, value] of Object.entries({ cs_prev: before.cs, h_prev: before.h, w: by.w, b: by.b }))
    if (sizeOf(value.shape) === 0) throw new InvalidArgumentError(`${name} is empty: ${showRuntime(value.shape)}`);
  expectShape('w', by.w, [inputs + units, 4 * units]);
  for (const [name, value] of Object.entries({ wci: by.wci, wcf: by.wcf, wco: by.wco }))
    expectShape(name, value, [units]);
  expectShape('b', by.b, [4 * units]);
  return { batch, inputs, units };
}

const sizesOf = (x: Dims, cs: Dims, rank: number) => {
  const dims = ofRank(x, rank, 'x');
  const [rows, units] = ofRank(cs, 2, 'cs_prev');
  return {
    time: dims[0]!,
    batch: mergeDim(dims.at(-2)!, rows!, 'sizes of the batch'),
    inputs: dims.at(-1)!,
    units: units!,
  };
};

/** A cell of two inputs and two units, three examples. */
const numbers = (count: number, seed: number) =>
  Array.from({ length: count }, (_, i) => Math.round(1000 * Math.sin(seed * 3.1 + i * 1.3)) / 1000);
const matrix = (rows: number, columns: number, seed: number) =>
  Array.from({ length: rows }, (_, i) => numbers(columns, seed + i * 0.7));
const someWeights = {
  w: matrix(4, 8, 1),
  wci: numbers(2, 2),
  wcf: numbers(2, 3),
  wco: numbers(2, 4),
  b: numbers(8, 5),
};
const cellCase = { x: matrix(3, 2, 6), cs_prev: matrix(3, 2, 7), h_prev: matrix(3, 2, 8), ...someWeights };

export const LSTMBlockCell = defineOp({
  name: 'LSTMBlockCell',
  inputs: { x: 'T', cs_prev: 'T', h_prev: 'T', ...weights },
  outputs: gates,
  attrs: { forget_bias: attr('float', { default: 1 }), cell_clip: attr('float', { default: 3 }), use_peephole, T },
  shape({ x, cs_prev }) {
    const { batch, units } = sizesOf(x, cs_prev, 2);
    const own: Dims = [batch, units];
    return { i: own, cs: own, f: own, o: own, ci: own, co: own, h: own };
  },
  grad({ inputs, outputs, attrs }, dy) {
    const { i, cs, f, o, ci, co } = outputs;
    const back = LSTMBlockCellGrad.build(
      { ...inputs, i, cs, f, o, ci, co, cs_grad: denseGradient(dy.cs), h_grad: denseGradient(dy.h) },
      { attrs: { use_peephole: attrs.use_peephole } },
    );
    const size = inputs.x.shape?.[1];
    if (size == null)
      throw new InvalidArgumentError('The gradient of LSTMBlockCell needs to know how many inputs x has.');
    const both = matmul(back.dicfo, inputs.w, { transposeB: true });
    return {
      x: getItem(both, `:, :${size}`),
      cs_prev: back.cs_prev_grad,
      h_prev: getItem(both, `:, ${size}:`),
      w: matmul(concat([inputs.x, inputs.h_prev], 1), back.dicfo, { transposeA: true }),
      wci: back.wci_grad,
      wcf: back.wcf_grad,
      wco: back.wco_grad,
      b: BiasAddGrad.build({ out_backprop: back.dicfo }).output,
    };
  },
  lower(p, { x, cs_prev, h_prev, ...by }, attrs) {
    const before = { cs: cs_prev, h: h_prev };
    checkStep(x, before, by, 2);
    const options = {
      layout: icfo,
      forgetBias: attrs.forget_bias,
      clip: attrs.cell_clip,
      peephole: attrs.use_peephole,
    };
    return step(p, x, before, by, options);
  },
  cases: () => [
    { shape: '[?, 2], [3, ?], ?, ?, ?, ?, ?, ? -> [3, ?], [3, ?], [3, ?], [3, ?], [3, ?], [3, ?], [3, ?]' },
    { shape: '[3], [3, 2], ?, ?, ?, ?, ?, ?', rejects: /x/ },
    { given: cellCase, gradientOf: ['cs', 'h'], differentiable: 'once' },
    {
      given: cellCase,
      attrs: { use_peephole: true, forget_bias: 0.5, cell_clip: -1 },
      gradientOf: ['cs', 'h'],
      differentiable: 'once',
    },
    // TensorFlow's gradient does not know of the clipping.
    { given: cellCase, attrs: { cell_clip: 0.25 }, differentiable: false },
    { given: { ...cellCase, wci: 1 }, fails: /wci has shape \[\], but \[2\] is needed/ },
  ],
});

export const LSTMBlockCellGrad = defineOp({
  name: 'LSTMBlockCellGrad',
  inputs: {
    ...{ x: 'T', cs_prev: 'T', h_prev: 'T', ...weights },
    ...{ i: 'T', cs: 'T', f: 'T', o: 'T', ci: 'T', co: 'T', cs_grad: 'T', h_grad: 'T' },
  } as const,
  outputs: { cs_prev_grad: 'T', dicfo: 'T', wci_grad: 'T', wcf_grad: 'T', wco_grad: 'T' },
  attrs: { use_peephole: attr('bool'), T },
  shape({ x, cs_prev, wci, wcf, wco }) {
    const { batch, units } = sizesOf(x, cs_prev, 2);
    return {
      cs_prev_grad: [batch, units],
      dicfo: [batch, units === null ? null : 4 * units],
      wci_grad: wci,
      wcf_grad: wcf,
      wco_grad: wco,
    };
  },
  grad: notDifferentiable,
  lower(p, { x, cs_prev, h_prev, w, wci, wcf, wco, b, cs_grad, h_grad, ...now }, attrs) {
    const by = { w, wci, wcf, wco, b };
    const { batch, units } = checkStep(x, { cs: cs_prev, h: h_prev }, by, 2);
    for (const [name, value] of Object.entries({ ...now, cs_grad, h_grad })) expectShape(name, value, [batch, units]);
    const options = { layout: icfo, peephole: attrs.use_peephole };
    const back = stepBack(p, { ...now, h: now.co }, cs_prev, by, { cs: cs_grad, h: h_grad }, options);
    return {
      cs_prev_grad: back.cell,
      dicfo: back.sums,
      wci_grad: back.wci,
      wcf_grad: back.wcf,
      wco_grad: back.wco,
    };
  },
  cases: () => {
    const later = { i: 10, cs: 11, f: 12, o: 13, ci: 14, co: 15, cs_grad: 16, h_grad: 17 };
    const rest = Object.fromEntries(Object.entries(later).map(([name, seed]) => [name, matrix(3, 2, seed)]));
    const given = { ...cellCase, ...rest } as typeof cellCase & Record<keyof typeof later, number[][]>; // a matrix each
    return [
      {
        shape: '[?, 2], [3, 5], ?, ?, [5], [5], [5], ?, ?, ?, ?, ?, ?, ?, ?, ? -> [3, 5], [3, 20], [5], [5], [5]',
        attrs: { use_peephole: true },
      },
      // TensorFlow leaves the gradients of peepholes that are not used unset.
      { given, attrs: { use_peephole: false }, unspecified: ['wci_grad', 'wcf_grad', 'wco_grad'] },
      { given, attrs: { use_peephole: true } },
      { given: { ...given, i: [1] }, attrs: { use_peephole: true }, fails: /i has shape \[1\]/ },
    ];
  },
});

/** One moment of all. */
const at = (p: ProgramBuilder, all: Value, time: number): Value => {
  const [, ...rest] = all.shape;
  return p.reshape(p.slice(all, [time, 0, 0], [1, ...rest]), rest);
};

/** Moments one after the other, zeros where there are none. */
function together(p: ProgramBuilder, moments: readonly Value[], whole: Shape, dtype: d.DType): Value {
  const [time, ...rest] = whole as readonly [number, ...number[]];
  const missing = time - moments.length;
  const parts = moments.map((value) => p.reshape(value, [1, ...rest]));
  if (missing > 0) parts.push(p.fill(dtype, [missing, ...rest], 0));
  if (parts.length === 0) return p.fill(dtype, whole, 0);
  return parts.length === 1 ? parts[0]! : p.concat(parts, 0);
}

function lengthOf(p: ProgramBuilder, seqLenMax: Value, time: number): number {
  if (seqLenMax.shape.length > 0)
    throw new InvalidArgumentError(`seq_len_max must be rank 0 but is rank ${seqLenMax.shape.length}.`);
  const [length] = p.demandInts(seqLenMax);
  if (length! < 0 || length! > time)
    throw new InvalidArgumentError(`seq_len_max must be between 0 and the ${time} steps of x, but is ${length}.`);
  return length!;
}

const sequenceCase = {
  seq_len_max: { dtype: 'int64' as const, value: 2 },
  x: [matrix(3, 2, 6), matrix(3, 2, 9), matrix(3, 2, 12)],
  cs_prev: cellCase.cs_prev,
  h_prev: cellCase.h_prev,
  ...someWeights,
};

/** Of steps beyond the length, TensorFlow leaves these unset. */
const unspecified = ['i', 'f', 'o', 'ci', 'co'] as const;

const sequence = (name: 'BlockLSTM' | 'BlockLSTMV2', layout: Layout, backward: () => typeof BlockLSTMGrad) =>
  defineOp({
    name,
    inputs: { seq_len_max: 'int64', x: 'T', cs_prev: 'T', h_prev: 'T', ...weights },
    outputs: gates,
    attrs: {
      ...(layout === icfo && { forget_bias: attr('float', { default: 1 }) }),
      cell_clip: attr('float', { default: layout === icfo ? 3 : 0 }),
      use_peephole,
      T,
    },
    hostInputs: ['seq_len_max'],
    shape({ x, cs_prev }) {
      const { time, batch, units } = sizesOf(x, cs_prev, 3);
      const own: Dims = [time, batch, units];
      return { i: own, cs: own, f: own, o: own, ci: own, co: own, h: own };
    },
    grad({ inputs, outputs, attrs }, dy) {
      const back = backward().build(
        { ...inputs, ...outputs, cs_grad: denseGradient(dy.cs), h_grad: denseGradient(dy.h) },
        { attrs: { use_peephole: attrs.use_peephole } },
      );
      return {
        seq_len_max: null,
        x: back.x_grad,
        cs_prev: back.cs_prev_grad,
        h_prev: back.h_prev_grad,
        w: back.w_grad,
        wci: back.wci_grad,
        wcf: back.wcf_grad,
        wco: back.wco_grad,
        b: back.b_grad,
      };
    },
    lower(p, { seq_len_max, x, cs_prev, h_prev, ...by }, attrs) {
      const { batch, units } = checkStep(x, { cs: cs_prev, h: h_prev }, by, 3);
      const options = {
        layout,
        forgetBias: 'forget_bias' in attrs ? Number(attrs.forget_bias) : 0,
        clip: attrs.cell_clip,
        peephole: attrs.use_peephole,
      };
      const moments: Gates[] = [];
      const length = lengthOf(p, seq_len_max, x.shape[0]!);
      for (let time = 0; time < length; time++)
        moments.push(step(p, at(p, x, time), moments.at(-1) ?? { cs: cs_prev, h: h_prev }, by, options));
      const whole = [x.shape[0]!, batch, units];
      const all = (gate: keyof Gates) =>
        together(
          p,
          moments.map((m) => m[gate]),
          whole,
          x.dtype,
        );
      return { i: all('i'), cs: all('cs'), f: all('f'), o: all('o'), ci: all('ci'), co: all('co'), h: all('h') };
    },
    cases: () => [
      {
        shape:
          '[], [9, ?, 2], [3, 5], ?, ?, ?, ?, ?, ? -> [9, 3, 5], [9, 3, 5], [9, 3, 5], [9, 3, 5], [9, 3, 5], [9, 3, 5], [9, 3, 5]',
      },
      { given: sequenceCase, gradientOf: ['cs', 'h'], differentiable: 'once', unspecified },
      {
        given: sequenceCase,
        attrs: { use_peephole: true },
        gradientOf: ['cs', 'h'],
        differentiable: 'once',
        unspecified,
      },
      {
        given: { ...sequenceCase, seq_len_max: { dtype: 'int64', value: 3 } },
        attrs: { cell_clip: 0.25 },
        differentiable: false,
      },
      { given: { ...sequenceCase, b: [1] }, fails: /b has shape \[1\]/ },
    ],
  });

const sequenceGrad = (name: 'BlockLSTMGrad' | 'BlockLSTMGradV2', layout: Layout) =>
  defineOp({
    name,
    inputs: {
      ...{ seq_len_max: 'int64', x: 'T', cs_prev: 'T', h_prev: 'T', ...weights },
      ...{ ...gates, cs_grad: 'T', h_grad: 'T' },
    } as const,
    outputs: {
      ...{ x_grad: 'T', cs_prev_grad: 'T', h_prev_grad: 'T', w_grad: 'T' },
      ...{ wci_grad: 'T', wcf_grad: 'T', wco_grad: 'T', b_grad: 'T' },
    } as const,
    attrs: { use_peephole: attr('bool'), T },
    hostInputs: ['seq_len_max'],
    shape: ({ x, cs_prev, h_prev, w, wci, wcf, wco, b }) => ({
      x_grad: x,
      cs_prev_grad: cs_prev,
      h_prev_grad: h_prev,
      w_grad: w,
      wci_grad: wci,
      wcf_grad: wcf,
      wco_grad: wco,
      b_grad: b,
    }),
    grad: notDifferentiable,
    lower(p, { seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, cs_grad, h_grad, ...now }, attrs) {
      const by = { w, wci, wcf, wco, b };
      const { batch, inputs, units } = checkStep(x, { cs: cs_prev, h: h_prev }, by, 3);
      const whole = [x.shape[0]!, batch, units];
      for (const [port, value] of Object.entries({ ...now, cs_grad, h_grad })) expectShape(port, value, whole);
      const options = { layout, peephole: attrs.use_peephole };
      const sum = (a: Value, other: Value) => p.map([a, other], (u, v) => e.add(u!, v!));
      const totals = Object.fromEntries(Object.entries(by).map(([key, value]) => [key, zerosAs(p, value)]));
      const add = (key: string, more: Value) => {
        totals[key] = sum(totals[key]!, more);
      };
      let carried = { cs: zerosAs(p, cs_prev), h: zerosAs(p, h_prev) };
      const dx: Value[] = [];
      for (let time = lengthOf(p, seq_len_max, x.shape[0]!) - 1; time >= 0; time--) {
        const moment = Object.fromEntries(
          Object.entries(now).map(([key, value]) => [key, at(p, value, time)]),
        ) as Gates; // the same names
        const before =
          time > 0 ? { cs: at(p, now.cs, time - 1), h: at(p, now.h, time - 1) } : { cs: cs_prev, h: h_prev };
        const given = { cs: sum(at(p, cs_grad, time), carried.cs), h: sum(at(p, h_grad, time), carried.h) };
        const back = stepBack(p, moment, before.cs, by, given, options);
        const both = p.dot(back.sums, w, { transposeB: true });
        dx.unshift(p.slice(both, [0, 0], [batch, inputs]));
        carried = { cs: back.cell, h: p.slice(both, [0, inputs], [batch, units]) };
        add('w', p.dot(p.concat([at(p, x, time), before.h], 1), back.sums, { transposeA: true }));
        add('b', p.reduce('sum', back.sums, [0]));
        if (attrs.use_peephole) for (const key of ['wci', 'wcf', 'wco'] as const) add(key, back[key]);
      }
      return {
        x_grad: together(p, dx, x.shape, x.dtype),
        cs_prev_grad: carried.cs,
        h_prev_grad: carried.h,
        w_grad: totals['w']!,
        wci_grad: totals['wci']!,
        wcf_grad: totals['wcf']!,
        wco_grad: totals['wco']!,
        b_grad: totals['b']!,
      };
    },
    cases: () => {
      const later = { i: 20, cs: 21, f: 22, o: 23, ci: 24, co: 25, h: 26, cs_grad: 27, h_grad: 28 };
      const rest = Object.fromEntries(
        Object.entries(later).map(([key, seed]) => [key, [0, 1, 2].map((time) => matrix(3, 2, seed + 10 * time))]),
      );
      const given = { ...sequenceCase, ...rest } as typeof sequenceCase & Record<keyof typeof later, number[][][]>; // as made above
      return [
        {
          shape: `[], [9, 3, 2], [3, 5], [3, 5], [7, 20], [5], [5], [5], [20], ${'?, '.repeat(8)}? -> [9, 3, 2], [3, 5], [3, 5], [7, 20], [5], [5], [5], [20]`,
          attrs: { use_peephole: true },
        },
        { given, attrs: { use_peephole: false }, unspecified: ['wci_grad', 'wcf_grad', 'wco_grad'] },
        { given, attrs: { use_peephole: true } },
        { given: { ...given, i: [1] }, attrs: { use_peephole: true }, fails: /i has shape \[1\]/ },
      ];
    },
  });

export const BlockLSTMGrad = sequenceGrad('BlockLSTMGrad', icfo);
export const BlockLSTMGradV2 = sequenceGrad('BlockLSTMGradV2', ifco);
export const BlockLSTM = sequence('BlockLSTM', icfo, () => BlockLSTMGrad);
export const BlockLSTMV2 = sequence('BlockLSTMV2', ifco, () => BlockLSTMGradV2);
