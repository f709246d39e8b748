/** @file Calls as TensorFlow makes them: a golden file has the nodes of each call and of its gradients, and their values. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import { fromElements } from '../../src/core/ndarray.ts';
import { type Dims, type Shape, sizeOf } from '../../src/core/shape.ts';

interface Golden {
  readonly nodes: readonly string[];
  /** Null where TensorFlow has no kernel. */
  readonly values: readonly (readonly number[])[] | null;
}

export interface InputOptions {
  readonly static?: Dims;
  readonly seed?: number;
  readonly low?: number;
  readonly high?: number;
  /** False for what is fed but not differentiated. */
  readonly diff?: false;
}

/** Placeholders of a call, with the values to feed. */
export class Inputs {
  readonly feeds: [tf.Tensor, tf.NDArray][] = [];
  readonly sources: tf.Tensor[] = [];
  constructor(private readonly dtype: tf.DType = tf.float64) {}

  /** Fed with the same numbers as by the script that wrote the golden file. */
  of(shape: Shape, name = 'x', options: InputOptions = {}): tf.Tensor {
    const { seed = 1, low = -2, high = 2 } = options;
    const values = Array.from({ length: sizeOf(shape) }, (_, i) => {
      const wild = Math.sin(i * 1.7 + seed) * 43758.5453;
      return low + (high - low) * (wild - Math.floor(wild));
    });
    const dims = options.static === undefined ? shape : options.static;
    const tensor: tf.Tensor = tf.placeholder(this.dtype, dims, { name });
    this.feeds.push([tensor, fromElements(this.dtype, shape, values)]);
    if (options.diff !== false) this.sources.push(tensor);
    return tensor;
  }
}

export type Build<I extends Inputs = Inputs> = (x: I) => tf.Tensor | readonly tf.Tensor[];

/** A node as golden files write it. */
function text(op: tf.Operation): string {
  const inputs = op.inputs.map((t) => (t.index === 0 ? t.op.name : t.name));
  return [op.name, op.type, ...inputs, ...op.controlInputs.map((c) => `^${c.name}`).sort()].join(' ');
}

/** The outputs, their gradients and, for a higher order, the gradients of those. */
function fetchesOf(made: tf.Tensor | readonly tf.Tensor[], sources: readonly tf.Tensor[], order: number): tf.Tensor[] {
  let outputs = made instanceof tf.Tensor ? [made] : [...made];
  const fetches = [...outputs];
  for (let i = 0; i < order; i++) {
    const floats = outputs.filter((y) => y.dtype.isFloating);
    if (floats.length === 0 || sources.length === 0) break;
    outputs = tf.gradients(floats, sources).flatMap((g) => (g === null ? [] : [tf.convertToTensor(g)]));
    fetches.push(...outputs);
  }
  return fetches;
}

/** Makes every call and compares it with test/golden/`file`; values may differ by `tolerance` of their size. */
export function describeCalls<I extends Inputs>(
  file: string,
  cases: Readonly<Record<string, Build<I>>>,
  {
    inputs: makeInputs,
    tolerance,
    order = () => 1,
  }: {
    readonly inputs: () => I;
    readonly tolerance: number;
    readonly order?: (name: string) => number;
  },
): void {
  const path = new URL(`../golden/${file}`, import.meta.url);
  const golden = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Golden>;
  const close = (actual: number, wanted: number) =>
    Math.abs(actual - wanted) <= tolerance * Math.max(1, Math.abs(wanted));

  describe('as TensorFlow', () => {
    it('every golden case is tried', () => expect(Object.keys(cases).sort()).toEqual(Object.keys(golden).sort()));

    for (const [name, build] of Object.entries(cases))
      it(name, async () => {
        const graph = new tf.Graph();
        const inputs = makeInputs();
        const fetches = graph.asDefault(() => fetchesOf(build(inputs), inputs.sources, order(name)));
        const { nodes, values } = golden[name]!;
        expect(graph.operations.map(text)).toEqual(nodes);
        const arrays = await new tf.Session({ graph }).run(fetches, inputs.feeds);
        if (!values) return;
        expect(arrays.length).toBe(values.length);
        for (const [k, wanted] of values.entries()) {
          const actual = (arrays[k] as tf.NDArray).numbers(); // a list of tensors gives a list of arrays
          const wrong = wanted.flatMap((w, i) => (close(actual[i]!, w) ? [] : [`${i}: ${actual[i]} for ${w}`]));
          expect([actual.length, wrong], `value ${k}`).toEqual([wanted.length, []]);
        }
      });
  });
}
