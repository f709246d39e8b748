/** @file numpy-like slices: `'1:, ::2, ..., newaxis, -1'` or a list of parts, as Python's `x[...]` builds them. */
import { type DType, int16, int32, int64 } from '../../core/dtypes.ts';
import { intVector, scalar } from '../../core/ndarray.ts';
import { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { constantNode } from '../../op/convert.ts';
import { scoped } from './common.ts';
import { add, castNode } from './neighbours.ts';
import { stack } from './stack.ts';
import { stridedSlice } from './stridedSlice.ts';

/** A new axis of size 1 in a slice. */
export const newaxis: unique symbol = Symbol('newaxis');

/** A position: a number or an integer scalar. */
export type Position = number | Tensor;
/** A range: start, stop and step, each of which may be left out with `null`. */
export type SliceRange = readonly [start?: Position | null, stop?: Position | null, step?: Position | null];
/** One part of a slice: a position, a range, `'...'`, a new axis, or text such as `'1:-1'`. */
export type SlicePart = Position | SliceRange | typeof newaxis | string;
/** A whole slice: text such as `'1:, ::2'`, one position, or a list of parts. */
export type SliceSpec = string | number | readonly SlicePart[];

type ParsedPart = Position | SliceRange | typeof newaxis | '...';

const integer = /^[+-]?\d+$/;

function parseInteger(text: string, whole: string): number {
  if (!integer.test(text))
    throw userError(
      `'${text}' in the slice '${whole}' is not an integer. Write slices as in Python: '1:, ::2, ..., newaxis, -1'.`,
    );
  return Number(text);
}

function parsePart(text: string, whole: string): ParsedPart {
  if (text === '...') return '...';
  if (text === 'newaxis' || text === 'None' || text === 'null') return newaxis;
  if (!text.includes(':')) return parseInteger(text, whole);
  const fields = text.split(':').map((f) => f.trim());
  if (fields.length > 3) throw userError(`'${text}' in the slice '${whole}' has more than two colons.`);
  const [start, stop, step] = fields.map((f) => (f === '' ? null : parseInteger(f, whole)));
  return [start ?? null, stop ?? null, step ?? null];
}

function parse(spec: SliceSpec): ParsedPart[] {
  if (typeof spec === 'number') return [spec];
  if (typeof spec !== 'string') return spec.map((p) => (typeof p === 'string' ? parsePart(p.trim(), p) : p));
  const text = spec.trim();
  return text === '' ? [] : text.split(',').map((p) => parsePart(p.trim(), spec));
}

/** The widest type among the tensors of a range. */
function typeOf(range: SliceRange): DType | undefined {
  const types = range.filter((t): t is Tensor => t instanceof Tensor).map((t) => t.dtype);
  return [int64, int32, int16].find((t) => types.includes(t));
}

/** `x[spec]`: adds `strided_slice/stack`, `stack_1`, `stack_2` and one `StridedSlice` node named `strided_slice`. */
export function getItem(x: Tensor, spec: SliceSpec): Tensor {
  const begin: Position[] = [];
  const end: Position[] = [];
  const strides: Position[] = [];
  let beginMask = 0;
  let endMask = 0;
  let ellipsisMask = 0;
  let newAxisMask = 0;
  let shrinkAxisMask = 0;
  const push = (b: Position, e: Position, s: Position) => {
    begin.push(b);
    end.push(e);
    strides.push(s);
  };
  for (const [i, part] of parse(spec).entries()) {
    const flag = 1 << i;
    if (part === '...') {
      push(0, 0, 1);
      ellipsisMask |= flag;
    } else if (part === newaxis) {
      push(0, 0, 1);
      newAxisMask |= flag;
    } else if (typeof part === 'number') {
      push(part, part + 1, 1);
      shrinkAxisMask |= flag;
    } else if (part instanceof Tensor) {
      const wide = part.dtype === int16 || part.dtype === int64;
      const next = add(part, 1);
      push(part, next, wide ? constantNode(scalar(part.dtype, 1)) : 1);
      shrinkAxisMask |= flag;
    } else {
      const dtype = typeOf(part);
      const filler = (value: number): Position => (dtype ? constantNode(scalar(dtype, value)) : value);
      const [start, stop, step] = part;
      const from = start ?? filler(0);
      if (start == null) beginMask |= flag;
      const to = stop ?? filler(0);
      if (stop == null) endMask |= flag;
      push(from, to, step ?? filler(1));
    }
  }
  return scoped('strided_slice', [x], (scope) => {
    const masks = { beginMask, endMask, ellipsisMask, newAxisMask, shrinkAxisMask, name: scope };
    if (begin.length === 0) {
      const none = constantNode(intVector([]));
      return stridedSlice(x, none, none, none, masks);
    }
    const stacked = [stack(begin), stack(end), stack(strides)];
    const wide = stacked.some((t) => t.dtype === int64);
    const [b, e, s] = stacked.map((t) => (wide && t.dtype !== int64 ? castNode(t, int64) : t));
    return stridedSlice(x, b!, e!, s!, masks);
  });
}
