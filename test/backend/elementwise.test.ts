/** @file Elementwise functions, operators and their gradients build TensorFlow's nodes and give its values, on every type. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import type { Device } from '../../src/devices/device.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { encodeAttr } from '../../src/op/attrs.ts';
import { findOp } from '../../src/op/registry.ts';
import { CaseRunner } from './caseRunner.ts';
import { type Packed, unpack } from './packed.ts';

interface GraphCase {
  readonly call: readonly [kind: string, name: string];
  readonly inputs: readonly (readonly [dtype: string, shape: readonly (number | null)[]])[];
  readonly feeds: readonly Packed[];
  /** Per order of derivative and input, whether there is one. */
  readonly gradients: readonly (readonly boolean[])[];
  readonly nodes: readonly string[];
  readonly outputs: readonly Packed[];
}
interface ValueCase {
  readonly op: string;
  readonly attrs: Readonly<Record<string, string | boolean>>;
  readonly inputs: readonly Packed[];
  readonly output: Packed;
}
// The file is written by tools/golden/elementwise.py in just this form.
const golden = JSON.parse(readFileSync(new URL('../golden/elementwise.json', import.meta.url), 'utf8')) as {
  graphs: readonly GraphCase[];
  values: readonly ValueCase[];
};

const native = CpuDevice.open();
const devices: readonly Device[] = native ? [new ReferenceDevice(), native] : [new ReferenceDevice()];

/** Half types round the last bit differently when TensorFlow keeps more bits between the steps of a gradient. */
const tolerances: Record<string, number> = {
  float16: 2e-3,
  bfloat16: 1.6e-2,
  float32: 2e-5,
  complex64: 2e-5,
  float64: 1e-9,
  complex128: 1e-9,
};

/** Compares elements; `scale` is the size below which differences are judged absolutely. */
function expectClose(actual: tf.NDArray, expected: tf.NDArray, scale: number): void {
  expect([actual.dtype.name, actual.shape]).toEqual([expected.dtype.name, expected.shape]);
  const tolerance = tolerances[expected.dtype.name];
  const parts = (array: tf.NDArray) =>
    array.dtype.isComplex ? Array.from(array.data, Number) : Array.from({ length: array.size }, (_, i) => array.at(i));
  const [a, e] = [parts(actual), parts(expected)];
  const far = e.flatMap((want, i) => {
    const have = a[i]!;
    if (tolerance === undefined || typeof want !== 'number' || !Number.isFinite(want))
      return Object.is(have, want) ? [] : [i];
    return Math.abs(Number(have) - want) <= tolerance * Math.max(Math.abs(want), scale) ? [] : [i];
  });
  expect(far.map((i) => [i, a[i], e[i]])).toEqual([]);
}

const camelCase = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

type Build = (...inputs: readonly tf.TensorLike[]) => tf.Tensor | readonly tf.Tensor[];

/** The golden names functions and methods by text, so they are looked up by text. */
function lookUp(owner: object, name: string): Build {
  const found = (owner as Record<string, unknown>)[name];
  if (typeof found !== 'function') throw new Error(`there is no ${name}`);
  return found.bind(owner) as Build;
}

const calls: Record<string, (name: string, xs: readonly tf.Tensor[]) => tf.Tensor | readonly tf.Tensor[]> = {
  function: (name, xs) => lookUp(tf, camelCase(name))(...xs),
  operator: (name, [x, y]) => lookUp(x!, name)(y!),
  literal: (name, [x]) => lookUp(x!, name)(2),
  list: (name, xs) => lookUp(tf, camelCase(name))(xs),
  cast: (dtype, [x]) => tf.cast(x!, tf.dtypeFromName(dtype)!),
  saturateCast: (dtype, [x]) => tf.saturateCast(x!, tf.dtypeFromName(dtype)!),
  bounds: (_, [x]) => tf.clipByValue(x!, 0.25, 0.75),
  bound: (name, [x]) => lookUp(tf, camelCase(name))(x!, 0.5),
  lists: (_, xs) => tf.clipByGlobalNorm(xs, 0.5)[0],
  raw: (type, inputs) => inputs[0]!.graph.createOp({ type, inputs }).outputs[0]!,
};

/** Gradients of complex results are those of their real parts. */
const realPart = (t: tf.Tensor) => (t.dtype.isComplex ? tf.real(t) : t);

function buildGraph(c: GraphCase): { xs: readonly tf.Tensor[]; fetches: readonly tf.Tensor[] } {
  const xs = c.inputs.map(([dtype, shape]) => tf.placeholder(tf.dtypeFromName(dtype)!, shape));
  const result = calls[c.call[0]]!(c.call[1], xs);
  let level: readonly tf.Tensor[] = result instanceof tf.Tensor ? [result] : result;
  const fetches = [...level];
  for (const present of c.gradients) {
    const found = tf.gradients(level.map(realPart), xs);
    expect(found.map((t) => t !== null)).toEqual(present);
    level = found.filter((t) => t instanceof tf.Tensor);
    fetches.push(...level);
  }
  return { xs, fetches };
}

describe('graphs', () => {
  for (const c of golden.graphs)
    it(`${c.call.join(' ')} of ${JSON.stringify(c.inputs)}`, async () => {
      const graph = new tf.Graph();
      const { xs, fetches } = graph.asDefault(() => buildGraph(c));
      expect(graph.operations.map((op) => [op.name, op.type, ...op.nodeDef.input].join(' '))).toEqual(c.nodes);
      const feeds = xs.map((x, i) => [x, unpack(c.feeds[i]!)] as const);
      for (const device of devices) {
        const values = await new CaseRunner(graph, device).run(fetches, feeds);
        for (const [i, value] of values.entries()) {
          const expected = unpack(c.outputs[i]!);
          // Sums of terms that cancel are as exact as their largest terms.
          const scale = Math.max(1e-3, ...expected.numbers().map(Math.abs).filter(Number.isFinite));
          expectClose(value, expected, scale);
        }
      }
    });
});

/** Rounding is judged against the whole complex number, near a zero of lgamma absolutely, and float16 ends at 6e-8. */
function leastScale({ op, output: { dtype } }: ValueCase): number {
  if (dtype.startsWith('complex')) return 0.1;
  return op === 'Lgamma' || dtype === 'float16' ? 1e-3 : 1e-30;
}

describe('values', () => {
  for (const c of golden.values)
    it(`${c.op} of ${c.inputs[0]!.dtype} ${JSON.stringify(c.attrs)}`, async () => {
      const graph = new tf.Graph();
      const inputs = c.inputs.map(unpack);
      const xs = graph.asDefault(() => inputs.map((value) => tf.placeholder(value.dtype, value.shape)));
      const { attrSpecs } = findOp(c.op);
      const attrs = Object.entries(c.attrs).map(([name, value]) => {
        const decoded = typeof value === 'string' ? tf.dtypeFromName(value) : value;
        return [name, encodeAttr(attrSpecs[name]!, decoded)] as const;
      });
      const node = graph.asDefault(() => graph.createOp({ type: c.op, inputs: xs, attrs: Object.fromEntries(attrs) }));
      for (const device of devices) {
        const [value] = await new CaseRunner(graph, device).run(
          node.outputs,
          xs.map((x, i) => [x, inputs[i]!]),
        );
        expectClose(value!, unpack(c.output), leastScale(c));
      }
    });
});
