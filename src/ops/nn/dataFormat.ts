/** @file DataFormatDimMap and DataFormatVecPermute: axes and sizes of one image format in another. */
import * as d from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { showRuntime } from '../../core/shape.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import * as e from '../../program/expr.ts';
import { ofRank } from '../array/common.ts';

const attrs = {
  T: attr('type', { allowed: [d.int32, d.int64], default: d.int32 }),
  src_format: attr('string', { default: 'NHWC' }),
  dst_format: attr('string', { default: 'NCHW' }),
};

/** Refuses formats that are not the same letters in two orders. */
function checkFormats(from: string, to: string): void {
  for (const [what, name, format] of [['Source', 'src', from] as const, ['Destination', 'dst', to] as const])
    if (format.length !== 4 && format.length !== 5)
      throw new InvalidArgumentError(`${what} format must be of length 4 or 5, received ${name}_format = ${format}`);
  const letters = new Set(from);
  const isPermutation = letters.size === from.length && new Set(to).size === to.length;
  if (!isPermutation || from.length !== to.length || [...to].some((letter) => !letters.has(letter)))
    throw new InvalidArgumentError(`Destination and source format must determine a permutation, got ${from} and ${to}`);
}

export const DataFormatDimMap = defineOp({
  name: 'DataFormatDimMap',
  inputs: { x: 'T' },
  outputs: { y: 'T' },
  attrs,
  shape: ({ x }) => ({ y: x }),
  grad: notDifferentiable,
  lower(p, { x }, { src_format, dst_format, T }) {
    checkFormats(src_format, dst_format);
    const rank = src_format.length;
    const places = [...src_format].map((letter) => dst_format.indexOf(letter));
    // As in TensorFlow, axes that no image has are taken for the last one.
    const y = p.map([x], (axis) => {
      const own = e.truncmod(e.add(axis!, rank), e.constant(rank, T));
      return places
        .slice(0, -1)
        .reduceRight<e.Expr>(
          (rest, place, i) => e.select(e.eq(own, e.constant(i, T)), e.constant(place, T), rest),
          e.constant(places.at(-1)!, T),
        );
    });
    return { y };
  },
  cases: () => [
    { shape: '[2, ?] -> [2, ?]' },
    {
      given: { x: { dtype: 'int32', value: [0, 1, 2, 3, -1, -4] } },
      expect: { y: { dtype: 'int32', value: [0, 2, 3, 1, 1, 0] } },
    },
    {
      given: {
        x: {
          dtype: 'int64',
          value: [
            [0, 1],
            [4, -2],
          ],
        },
      },
      attrs: { src_format: 'NDHWC', dst_format: 'NCDHW' },
      expect: {
        y: {
          dtype: 'int64',
          value: [
            [0, 2],
            [1, 4],
          ],
        },
      },
    },
    {
      given: { x: { dtype: 'int32', value: [0] } },
      attrs: { src_format: 'NHWH' },
      fails: /must determine a permutation, got NHWH and NCHW/,
    },
    {
      given: { x: { dtype: 'int32', value: [0] } },
      attrs: { src_format: 'NWC' },
      fails: /Source format must be of length 4/,
    },
  ],
});

export const DataFormatVecPermute = defineOp({
  name: 'DataFormatVecPermute',
  inputs: { x: 'T' },
  outputs: { y: 'T' },
  attrs,
  shape({ x }) {
    if (x !== null && x.length !== 1) ofRank(x, 2, 'x');
    return { y: x };
  },
  grad: notDifferentiable,
  lower(p, { x }, { src_format, dst_format }) {
    checkFormats(src_format, dst_format);
    const { shape } = x;
    const [all, spatial] = [src_format.length, src_format.length - 2];
    const shown = `but got shape ${showRuntime(shape)}`;
    if (shape.length !== 1 && shape.length !== 2)
      throw new InvalidArgumentError(`input must be a vector or 2D tensor, ${shown}`);
    if (shape[0] !== all && shape[0] !== spatial)
      throw new InvalidArgumentError(
        `${shape.length === 1 ? '1D input' : 'First dimension of 2D input'} must be of size ${spatial} or ${all}, ${shown}`,
      );
    if (shape.length === 2 && shape[1] !== 2)
      throw new InvalidArgumentError(`Second dimension of 2D input must be of size 2, ${shown}`);
    const keep = (format: string) =>
      shape[0] === all ? format : format.replace(spatial === 3 ? /[^DHW]/g : /[^HW]/g, '');
    const [from, to] = [keep(src_format), keep(dst_format)];
    if (from.length !== shape[0])
      throw new InvalidArgumentError(
        `Format specifier must contain ${spatial === 3 ? 'D, H and W' : 'H and W'} for 2D case`,
      );
    const rows = [...to].map((letter) => from.indexOf(letter));
    const parts = rows.map((row) =>
      p.slice(
        x,
        shape.map((_, axis) => (axis === 0 ? row : 0)),
        shape.map((size, axis) => (axis === 0 ? 1 : size)),
      ),
    );
    return { y: p.concat(parts, 0) };
  },
  cases: () => [
    { shape: '[4] -> [4]' },
    { shape: '[?, 2] -> [?, 2]' },
    {
      given: { x: { dtype: 'int32', value: [7, 4, 9, 3] } },
      expect: { y: { dtype: 'int32', value: [7, 3, 4, 9] } },
    },
    {
      given: {
        x: {
          dtype: 'int64',
          value: [
            [4, 9],
            [5, 3],
          ],
        },
      },
      attrs: { src_format: 'HWNC', dst_format: 'WHNC' },
      expect: {
        y: {
          dtype: 'int64',
          value: [
            [5, 3],
            [4, 9],
          ],
        },
      },
    },
    {
      given: { x: { dtype: 'int32', value: [7, 4, 9] } },
      fails: /1D input must be of size 2 or 4, but got shape \[3\]/,
    },
    {
      given: { x: { dtype: 'int32', value: [7, 4] } },
      attrs: { src_format: '1234', dst_format: '4321' },
      fails: /Format specifier must contain H and W/,
    },
  ],
});
