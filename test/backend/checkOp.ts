/** @file The checks that one op case goes through: shapes, values, gradients of first and second order, GraphDef round trip. */
import { expect } from 'vitest';
import { gradients } from '../../src/autodiff/index.ts';
import { type DType, float32 } from '../../src/core/dtypes.ts';
import { LookupError } from '../../src/core/errors.ts';
import { fromElements, type NDArray } from '../../src/core/ndarray.ts';
import { showShape } from '../../src/core/shape.ts';
import type { Device } from '../../src/devices/device.ts';
import { Tensor } from '../../src/graph/tensor.ts';
import type { ShapeCase, ValueCase } from '../../src/op/cases.ts';
import { constantNode, convertToTensor } from '../../src/op/convert.ts';
import { findOp, type OpDefinition } from '../../src/op/registry.ts';
import { GraphDef, type NodeDef } from '../../src/proto/graph.ts';
import { CaseRunner } from './caseRunner.ts';
import { Chance } from './fuzz/chance.ts';
import {
  type BuildCaseOptions,
  type BuiltCase,
  buildOp,
  buildShapeCase,
  caseArray,
  caseInputs,
  expectedOutputs,
  inDoublePrecision,
  isContinuous,
  tolerances,
  worstDifference,
} from './opCases.ts';

/** The values of a built case: outputs, then the contents of its variables. */
async function valuesOf(
  { graph, op, feeds, variables }: BuiltCase,
  device: Device,
  transport?: (defs: readonly NodeDef[]) => readonly NodeDef[],
): Promise<{ outputs: NDArray[]; contents: NDArray[] }> {
  const reads = variables.map((v) => graph.asDefault(() => v.read()));
  const runner = new CaseRunner(graph, device, transport);
  for (const { initialize } of variables) await runner.run([], [], [initialize]);
  const fetchable = op.outputs.filter((t) => t.dtype.name !== 'resource' && t.dtype.name !== 'variant');
  const outputs = await runner.run(fetchable, feeds, [op]);
  const contents = reads.length === 0 ? [] : await runner.run(reads, []);
  return { outputs, contents };
}

function expectClose(actual: NDArray, expected: NDArray, tolerance: number | undefined, what: string): void {
  expect(`${actual.dtype} ${showShape(actual.shape)}`, what).toBe(`${expected.dtype} ${showShape(expected.shape)}`);
  const limit = tolerance ?? tolerances[actual.dtype.storage] ?? 0;
  const worst = worstDifference(actual, expected);
  // The arrays are compared as text only to show them side by side.
  if (worst > limit) expect(`${actual} (differs by ${worst})`, what).toBe(String(expected));
}

export function checkShape(op: OpDefinition, c: ShapeCase): void {
  if (c.rejects) {
    expect(() => buildShapeCase(op, c)).toThrow(c.rejects);
    return;
  }
  const { node, promised } = buildShapeCase(op, c);
  if (promised)
    expect(node.outputs.map((t) => showShape(t.shape)).join(', ')).toBe(promised.map((d) => showShape(d)).join(', '));
}

/** The values a case promises, with shape-deciding inputs as constants, fed, and fed with unknown static shapes. */
export async function checkValues(op: OpDefinition, c: ValueCase, device: Device): Promise<void> {
  const inputs = caseInputs(op, c);
  const variants: BuildCaseOptions[] = [{}, { feedHostInputs: true, unknownShapes: true }];
  for (const options of variants) {
    const run = async () => {
      const built = buildOp(op, inputs, c.attrs ?? {}, options);
      return { built, ...(await valuesOf(built, device)) };
    };
    if (c.fails) {
      await expect(run()).rejects.toThrow(c.fails);
      continue;
    }
    const { built, outputs, contents } = await run();
    for (const [i, expected] of expectedOutputs(op, c, built.op).entries())
      if (expected) expectClose(outputs[i]!, expected, c.tolerance, built.op.outputs[i]!.name);
    for (const [i, { port }] of built.variables.entries()) {
      const after = c.after?.[port.name];
      if (after !== undefined)
        expectClose(contents[i]!, caseArray(after, contents[i]!.dtype), c.tolerance, `${port.name} afterwards`);
    }
    // Static shapes are promises about every run.
    for (const [i, t] of built.op.outputs.entries())
      if (t.shape && outputs[i])
        expect(
          t.shape.map((d, k) => d ?? outputs[i]!.shape[k]!),
          `static shape of ${t.name}`,
        ).toEqual(outputs[i].shape);
  }
}

/** Written as a GraphDef, read back and run in a new engine, the case gives the very same bits. */
export async function checkRoundTrip(op: OpDefinition, c: ValueCase, device: Device): Promise<void> {
  if (c.fails || op.isStateful) return;
  const built = buildOp(op, caseInputs(op, c), c.attrs ?? {});
  const direct = await valuesOf(built, device);
  const again = buildOp(op, caseInputs(op, c), c.attrs ?? {});
  const imported = await valuesOf(
    again,
    device,
    (defs) => GraphDef.decode(GraphDef.encode(GraphDef.create({ node: [...defs] }))).node,
  );
  for (const [i, array] of direct.outputs.entries()) expect(imported.outputs[i]!.equals(array)).toBe(true);
}

function randomLike(array: { dtype: DType; shape: readonly number[]; size: number }, chance: Chance): NDArray {
  const elements = Array.from({ length: array.size }, () => {
    const re = 2 * chance.fraction() - 1;
    return array.dtype.isComplex ? { re, im: 2 * chance.fraction() - 1 } : re;
  });
  return fromElements(array.dtype, array.shape, elements);
}

/** Components of a float or complex array: real and imaginary parts side by side, in the array's own memory. */
function components(array: NDArray): Float32Array | Float64Array {
  const { data } = array;
  if (data instanceof Float32Array || data instanceof Float64Array) return data;
  throw new Error(`the gradient check does not move ${array.dtype}`);
}

function inner(a: NDArray, b: NDArray): number {
  const [x, y] = [components(a), components(b)];
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i]! * y[i]!;
  return sum;
}

function moved(array: NDArray, direction: NDArray, step: number): NDArray {
  const result = array.copy();
  const [to, by] = [components(result), components(direction)];
  for (let i = 0; i < to.length; i++) to[i]! += step * by[i]!;
  return result;
}

const allFinite = (array: NDArray) => array.numbers().every((x) => Number.isFinite(x));

/** Why a case has no gradient check; `undefined` when it was checked. */
export type Skipped = string | undefined;

/** How far the inputs are moved, and the relative difference that counts as equal. */
interface Precision {
  readonly step: number;
  readonly tolerance: number;
}
/** With this step truncation is about 1e-10; curved functions and sums over elements add to it. */
const double: Precision = { step: 1e-5, tolerance: 1e-5 };
/** For ops without float64: rounding of 1e-7 over the step, and the step squared, are both about 1e-4. */
const single: Precision = { step: 1e-2, tolerance: 1e-2 };

/**
 * `<u, J v>` by central differences against `<J' u, v>` from the gradient function, in float64, in one random direction.
 * The second order does the same to the gradient itself.
 */
export async function checkGradient(op: OpDefinition, c: ValueCase, device: Device): Promise<Skipped> {
  if (c.fails) return 'fails';
  if (c.differentiable === false) return 'not smooth here';
  if (typeof op.gradient !== 'function') return 'no gradient';
  const own = caseInputs(op, c);
  const wide = inDoublePrecision(op, own, c.attrs ?? {});
  if (!wide && own.some(({ array }) => array.dtype.isFloating && array.dtype !== float32))
    return 'neither float32 nor float64';
  const built = wide ? buildOp(op, wide.inputs, wide.attrs) : buildOp(op, own, c.attrs ?? {});
  // Some ops give float32 whatever they are given.
  const isDouble = wide && built.op.outputs.every(({ dtype }) => dtype !== float32);
  const check = new GradientCheck(built, device, isDouble ? double : single, c.gradientOf);
  if (!check.applies) return 'nothing continuous';
  return check.run(op.isStateful || c.differentiable === 'once' ? 1 : 2);
}

class GradientCheck {
  private readonly chance = new Chance(20151109);
  private readonly runner: CaseRunner;
  private readonly xs: readonly (readonly [Tensor, NDArray])[];
  private readonly directions: NDArray[];
  private readonly ys: readonly Tensor[];

  constructor(
    private readonly built: BuiltCase,
    device: Device,
    private readonly precision: Precision,
    gradientOf: readonly string[] | undefined,
  ) {
    this.runner = new CaseRunner(built.graph, device);
    this.xs = built.feeds.filter(([t, array]) => isContinuous(t.dtype) && array.size > 0);
    this.directions = this.xs.map(([, array]) => randomLike(array, this.chance));
    const wanted = gradientOf?.map((port) => findOp(built.op.type).outputPorts.findIndex(({ name }) => name === port));
    this.ys = built.op.outputs.filter((t) => isContinuous(t.dtype) && (wanted?.includes(t.index) ?? true));
  }

  get applies(): boolean {
    return this.xs.length > 0 && this.ys.length > 0;
  }

  /** Stateful ops draw new values at every run, so a second derivative has nothing to be compared with. */
  async run(orders: 1 | 2): Promise<Skipped> {
    const values = await this.runner.run(this.ys, this.built.feeds);
    if (!values.every(allFinite)) return 'not finite here';
    const first = await this.compare(this.ys, values);
    if (typeof first === 'string') return first;
    if (orders === 1 || first.length === 0) return undefined;
    const known = await this.runner.run(first, this.built.feeds);
    if (!known.every(allFinite)) return undefined;
    try {
      await this.compare(first, known);
    } catch (error) {
      if (!(error instanceof LookupError)) throw error;
    }
    return undefined;
  }

  /** Compares both sides for these targets; gives the gradients built, or why there is nothing to compare. */
  private async compare(targets: readonly Tensor[], values: readonly NDArray[]): Promise<Tensor[] | string> {
    const weights = values.map((array) => randomLike(array, this.chance));
    const found = this.built.graph.asDefault(() =>
      gradients(
        targets,
        this.xs.map(([t]) => t),
        { gradYs: weights.map((w) => constantNode(w)) },
      ).map((g) => (g === null || g instanceof Tensor ? g : convertToTensor(g))),
    );
    const dense = found.filter((g) => g !== null);
    if (dense.length === 0) return 'no gradient reaches an input';
    const backward = await this.runner.run(dense, this.built.feeds);
    let exact = 0;
    for (const [i, [x, array]] of this.xs.entries()) {
      const at = found[i] ? dense.indexOf(found[i]) : -1;
      if (at < 0) continue;
      expect(showShape(backward[at]!.shape), `shape of the gradient of ${x.name}`).toBe(showShape(array.shape));
      exact += inner(backward[at]!, this.directions[i]!);
    }
    // An input without a gradient is declared constant, so the numerical side does not move it either.
    const forward = async (sign: number) => {
      const feeds = this.built.feeds.map(([t, array]): readonly [Tensor, NDArray] => {
        const i = this.xs.findIndex(([x]) => x === t);
        return [t, i >= 0 && found[i] ? moved(array, this.directions[i]!, sign * this.precision.step) : array];
      });
      const ys = await this.runner.run(targets, feeds);
      return ys.reduce((sum, y, k) => sum + inner(weights[k]!, y), 0);
    };
    const { step, tolerance } = this.precision;
    const numeric = ((await forward(1)) - (await forward(-1))) / (2 * step);
    const scale = Math.max(1, Math.abs(exact), Math.abs(numeric));
    if (!(Math.abs(exact - numeric) <= tolerance * scale))
      expect(exact, `gradient along a random direction, against central differences (${numeric})`).toBe(numeric);
    return dense;
  }
}
