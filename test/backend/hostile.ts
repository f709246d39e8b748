/** @file Bad input for every op, made from its own cases: other ranks, empty and longer axes, senseless numbers and attributes. */
import { int64 } from '../../src/core/dtypes.ts';
import { type Element, fromElements, type NDArray } from '../../src/core/ndarray.ts';
import { type Shape, sizeOf } from '../../src/core/shape.ts';
import type { AttrSpec } from '../../src/op/attrs.ts';
import type { ValueCase } from '../../src/op/cases.ts';
import type { OpDefinition } from '../../src/op/registry.ts';
import { type CaseInput, caseInputs, isShapeCase, isVariablePort } from './opCases.ts';

/** One way to misuse an op. */
export interface Misuse {
  readonly what: string;
  readonly inputs: readonly CaseInput[];
  readonly attrs: Readonly<Record<string, unknown>>;
}

const huge = 2 ** 31 - 1;
const vast = 2 ** 40;

/** The elements again and again, as many as a shape has. */
function refilled(array: NDArray, shape: Shape): NDArray {
  const blank: Element = array.dtype.isObject ? Buffer.from('x') : array.dtype.isBool ? false : 1;
  const elements = Array.from({ length: sizeOf(shape) }, (_, i) => (array.size > 0 ? array.at(i % array.size) : blank));
  return fromElements(array.dtype, shape, elements);
}

function otherShapes({ shape }: NDArray): [string, Shape][] {
  const [first = 1, ...rest] = shape;
  const found: [string, Shape][] = [
    ['a scalar', []],
    ['nothing', [0]],
    ['one more axis', [1, ...shape]],
  ];
  if (shape.length > 0)
    found.push(
      ['one axis less', rest],
      ['no rows', [0, ...rest]],
      ['one more row', [first + 1, ...rest]],
      ['a longer last axis', shape.map((size, i) => (i === shape.length - 1 ? size + 1 : size))],
      ['an empty last axis', shape.map((size, i) => (i === shape.length - 1 ? 0 : size))],
    );
  return found.filter(([, other]) => `${other}` !== `${shape}` || other.length !== shape.length);
}

function otherValues({ dtype, shape, size }: NDArray): [string, NDArray][] {
  if (size === 0 || size > 4096) return [];
  const all = (value: number): NDArray =>
    fromElements(
      dtype,
      shape,
      new Array<number>(size).fill(value).map((x) => (dtype === int64 ? BigInt(x) : x)),
    );
  if (dtype.isInteger) {
    // A single huge size is no mistake where memory can be had; two of them are more than there is anywhere.
    const numbers = [
      -1,
      0,
      -(2 ** 31),
      ...(dtype.size < 4 ? [] : size > 1 ? [huge] : []),
      ...(dtype.size > 4 ? [vast] : []),
    ];
    return numbers.filter((n) => n >= 0 || !dtype.isUnsigned).map((n) => [`all ${n}`, all(n)]);
  }
  if (dtype.isFloating) return [Number.NaN, Number.POSITIVE_INFINITY, -1e30].map((x) => [`all ${x}`, all(x)]);
  return [];
}

function otherAttrs(spec: AttrSpec, value: unknown): [string, unknown][] {
  const listed = (numbers: readonly number[], list: readonly unknown[]): [string, unknown][] =>
    numbers.map((n) => [`all ${n}`, list.map(() => n)]);
  switch (spec.kind) {
    case 'int':
      return [-1, 0, -(2 ** 31), vast].map((n) => [`${n}`, n]);
    case 'float':
      return [Number.NaN, -1, 0, Number.POSITIVE_INFINITY].map((n) => [`${n}`, n]);
    case 'string':
      return [['nonsense', 'nonsense'], ['empty', '']]; // biome-ignore format: a short list
    case 'list(int)':
    case 'list(float)': {
      const list = (value ?? [1]) as readonly number[]; // by its kind
      return [
        ...listed([-1, 0, huge, vast], list),
        ['empty', []],
        ['one more', [...list, 1]],
        ['one less', list.slice(1)],
      ];
    }
    case 'shape':
      return [['unknown', null], ['vast', [vast, vast]]]; // biome-ignore format: a short list
    default:
      return [];
  }
}

/** Every way to misuse an op that its first cases suggest. */
export function misuses(op: OpDefinition, casesUsed = 2): Misuse[] {
  const found: Misuse[] = [];
  const cases = op.cases().filter((c): c is ValueCase => !isShapeCase(c) && c.fails === undefined);
  for (const c of cases.slice(0, casesUsed)) {
    const inputs = caseInputs(op, c);
    const attrs = c.attrs ?? {};
    const replace = (at: number, what: string, array: NDArray) =>
      found.push({ what, inputs: inputs.map((input, i) => (i === at ? { ...input, array } : input)), attrs });
    for (const [i, { port, array }] of inputs.entries()) {
      if (isVariablePort(port)) continue;
      const name = `${port.name} (${i})`;
      for (const [what, shape] of otherShapes(array)) replace(i, `${name} is ${what}`, refilled(array, shape));
      for (const [what, other] of otherValues(array)) replace(i, `${name} is ${what}`, other);
    }
    for (const [name, spec] of Object.entries(op.attrSpecs))
      for (const [what, value] of otherAttrs(spec, attrs[name] ?? spec.default))
        found.push({ what: `${name} is ${what}`, inputs, attrs: { ...attrs, [name]: value } });
  }
  return found;
}
