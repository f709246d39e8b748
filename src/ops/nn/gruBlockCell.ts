/** @file GRUBlockCell and its gradient: the step of a GRU as one op. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Dims, type Shape, showRuntime } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import * as e from '../../program/map.ts';
import type { Value } from '../../program/value.ts';
import { mergeDim, ofRank } from '../array/common.ts';
import { concat } from '../array/concat.ts';
import { denseGradient } from '../array/indexedSlices.ts';
import { matmul } from '../math/matmul.ts';
import { times } from '../math/operators.ts';
import { BiasAddGrad } from './biasAdd.ts';

const T = attr('type', { allowed: [d.float32] });
const inputs = { x: 'T', h_prev: 'T', w_ru: 'T', w_c: 'T', b_ru: 'T', b_c: 'T' } as const;

interface Inputs {
  readonly x: Value;
  readonly h_prev: Value;
  readonly w_ru: Value;
  readonly w_c: Value;
  readonly b_ru: Value;
  readonly b_c: Value;
}

/** Checks the sizes of a step and gives them. */
function checkStep(given: Inputs, others: Readonly<Record<string, Value>> = {}) {
  for (const name of ['x', 'h_prev'] as const)
    if (given[name].shape.length !== 2)
      throw new InvalidArgumentError(`${name} must be a matrix but has shape ${showRuntime(given[name].shape)}.`);
  const [batch, size] = given.x.shape as readonly [number, number]; // a matrix
  const units = given.h_prev.shape[1]!;
  const wanted: Record<string, Shape> = {
    h_prev: [batch, units],
    w_ru: [size + units, 2 * units],
    w_c: [size + units, units],
    b_ru: [2 * units],
    b_c: [units],
  };
  for (const [name, value] of Object.entries({ ...given, ...others })) {
    const shape = name === 'x' ? given.x.shape : (wanted[name] ?? [batch, units]);
    if (value.shape.join() !== shape.join())
      throw new InvalidArgumentError(
        `${name} has shape ${showRuntime(value.shape)}, but ${showRuntime(shape)} is needed for the sizes of x and h_prev.`,
      );
  }
  return { batch, size, units };
}

const numbers = (count: number, seed: number) =>
  Array.from({ length: count }, (_, i) => Math.round(1000 * Math.sin(seed * 3.1 + i * 1.3)) / 1000);
const matrix = (rows: number, columns: number, seed: number) =>
  Array.from({ length: rows }, (_, i) => numbers(columns, seed + i * 0.7));
/** Three inputs and two units, two examples. */
const given = {
  x: matrix(2, 3, 1),
  h_prev: matrix(2, 2, 2),
  w_ru: matrix(5, 4, 3),
  w_c: matrix(5, 2, 4),
  b_ru: numbers(4, 5),
  b_c: numbers(2, 6),
};

export const GRUBlockCell = defineOp({
  name: 'GRUBlockCell',
  inputs,
  outputs: { r: 'T', u: 'T', c: 'T', h: 'T' },
  attrs: { T },
  shape({ x, h_prev }) {
    const [rows] = ofRank(x, 2, 'x');
    const [own, units] = ofRank(h_prev, 2, 'h_prev');
    const dims: Dims = [mergeDim(rows!, own!, 'sizes of the batch'), units!];
    return { r: dims, u: dims, c: dims, h: dims };
  },
  grad({ inputs: { x, h_prev, w_ru, w_c, b_ru, b_c }, outputs: { r, u, c } }, dy) {
    const back = GRUBlockCellGrad.build({ x, h_prev, w_ru, w_c, b_ru, b_c, r, u, c, d_h: denseGradient(dy.h) });
    const { d_x, d_h_prev, d_c_bar, d_r_bar_u_bar } = back;
    return {
      x: d_x,
      h_prev: d_h_prev,
      w_ru: matmul(concat([x, h_prev], 1), d_r_bar_u_bar, { transposeA: true }),
      w_c: matmul(concat([x, times(h_prev, r)], 1), d_c_bar, { transposeA: true }),
      b_ru: BiasAddGrad.build({ out_backprop: d_r_bar_u_bar }).output,
      b_c: BiasAddGrad.build({ out_backprop: d_c_bar }).output,
    };
  },
  lower(p, all) {
    const { batch, units } = checkStep(all);
    const { x, h_prev, w_ru, w_c, b_ru, b_c } = all;
    const both = p.map([p.dot(p.concat([x, h_prev], 1), w_ru), b_ru], (sum, bias) => e.sigmoid(e.add(sum!, bias!)));
    const r = p.slice(both, [0, 0], [batch, units]);
    const u = p.slice(both, [0, units], [batch, units]);
    const reset = p.map([h_prev, r], (h, gate) => e.mul(h!, gate!));
    const c = p.map([p.dot(p.concat([x, reset], 1), w_c), b_c], (sum, bias) => e.tanh(e.add(sum!, bias!)));
    const h = p.map([u, h_prev, c], (gate, old, next) => e.add(e.mul(gate!, old!), e.mul(e.sub(1, gate!), next!)));
    return { r, u, c, h };
  },
  cases: () => [
    { shape: '[?, 3], [2, 5], ?, ?, ?, ? -> [2, 5], [2, 5], [2, 5], [2, 5]' },
    { shape: '[3], [2, 5], ?, ?, ?, ?', rejects: /x/ },
    { given, gradientOf: ['h'], differentiable: 'once' },
    { given: { ...given, b_c: [1] }, fails: /b_c has shape \[1\], but \[2\] is needed/ },
  ],
});

export const GRUBlockCellGrad = defineOp({
  name: 'GRUBlockCellGrad',
  inputs: { ...inputs, r: 'T', u: 'T', c: 'T', d_h: 'T' },
  outputs: { d_x: 'T', d_h_prev: 'T', d_c_bar: 'T', d_r_bar_u_bar: 'T' },
  attrs: { T },
  shape({ x, h_prev, w_ru }) {
    const [rows] = ofRank(x, 2, 'x');
    return { d_x: x, d_h_prev: h_prev, d_c_bar: h_prev, d_r_bar_u_bar: [rows!, ofRank(w_ru, 2, 'w_ru')[1]!] };
  },
  grad: notDifferentiable,
  lower(p, { r, u, c, d_h, ...all }) {
    const { batch, size, units } = checkStep(all, { r, u, c, d_h });
    const { h_prev, w_ru, w_c } = all;
    const slope = (y: e.Expr) => e.mul(y, e.sub(1, y));
    const d_c_bar = p.map([d_h, u, c], (dh, gate, next) =>
      e.mul(e.mul(dh!, e.sub(1, gate!)), e.sub(1, e.square(next!))),
    );
    const update = p.map([d_h, h_prev, c, u], (dh, old, next, gate) =>
      e.mul(e.mul(dh!, e.sub(old!, next!)), slope(gate!)),
    );
    const inner = p.dot(d_c_bar, w_c, { transposeB: true });
    const reset = p.slice(inner, [0, size], [batch, units]);
    const gate = p.map([reset, h_prev, r], (dr, old, own) => e.mul(e.mul(dr!, old!), slope(own!)));
    const d_r_bar_u_bar = p.concat([gate, update], 1);
    const outer = p.dot(d_r_bar_u_bar, w_ru, { transposeB: true });
    const d_x = p.map([p.slice(inner, [0, 0], [batch, size]), p.slice(outer, [0, 0], [batch, size])], (a, b) =>
      e.add(a!, b!),
    );
    const before = p.slice(outer, [0, size], [batch, units]);
    const d_h_prev = p.map([before, reset, r, d_h, u], (all_, dr, own, dh, keep) =>
      e.add(e.add(all_!, e.mul(dr!, own!)), e.mul(dh!, keep!)),
    );
    return { d_x, d_h_prev, d_c_bar, d_r_bar_u_bar };
  },
  cases: () => {
    const more = { r: matrix(2, 2, 7), u: matrix(2, 2, 8), c: matrix(2, 2, 9), d_h: matrix(2, 2, 10) };
    return [
      { shape: '[2, 3], [2, 5], [8, 10], ?, ?, ?, ?, ?, ?, ? -> [2, 3], [2, 5], [2, 5], [2, 10]' },
      { given: { ...given, ...more } },
      { given: { ...given, ...more, r: [1] }, fails: /r has shape \[1\]/ },
    ];
  },
});
