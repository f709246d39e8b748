/** @file One random graph: the same on the reference device and, simplified, on the cpu device; and its record for TensorFlow. */
import { gradients } from '../../src/autodiff/index.ts';
import type { NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import type { Device } from '../../src/devices/device.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { IndexedSlices } from '../../src/graph/indexedSlices.ts';
import type { Tensor } from '../../src/graph/tensor.ts';
import { placeholder } from '../../src/ops/array/index.ts';
import { Engine } from '../../src/runtime/engine.ts';
import { ResourceManager } from '../../src/runtime/resources.ts';
import { Chance } from '../../test/backend/fuzz/chance.ts';
import { tolerances, worstDifference } from '../../test/backend/opCases.ts';
import { type RandomGraph, randomGraph } from './randomGraph.ts';
import { arrayRecord, type CaseRecord, type GradientRecord, graphRecord, shapesOf } from './records.ts';

/** A chain of steps adds up the roundings of each. */
const slack = 30;

async function evaluate(
  { graph }: RandomGraph,
  fetches: readonly Tensor[],
  feeds: readonly (readonly [Tensor, NDArray])[],
  device: Device,
  simplify: boolean,
): Promise<NDArray[]> {
  const engine = new Engine(device, new ResourceManager(), { simplify });
  engine.extend(graph.operations.map((op) => op.nodeDef));
  const executable = engine.prepare(
    feeds.map(([t]) => t.name),
    fetches.map((t) => t.name),
    [],
  );
  return executable.run(feeds.map(([, array]) => array));
}

/** Gradients of the float leaves with respect to the float inputs, with random weights fed for the ys. */
function addGradients(g: RandomGraph, values: readonly NDArray[], chance: Chance) {
  return g.graph.asDefault(() => {
    const ys = g.fetches.filter((t) => t.dtype.isFloating);
    if (ys.length === 0 || g.xs.length === 0) return undefined;
    const weights = ys.map((y) => {
      const array = values[g.fetches.indexOf(y)]!.copy();
      for (let i = 0; i < array.size; i++) setWhole(array, i, chance.integer(-2, 2));
      return array;
    });
    const gradYs = weights.map((w, i) => placeholder(w.dtype, w.shape, { name: `dy_${i}` }));
    const grads = gradients(ys, g.xs, { gradYs });
    const fed = gradYs.map((t, i) => [t, weights[i]!] as const);
    return { ys, gradYs, grads, fed };
  });
}

const halves: Readonly<Record<number, number>> = { [-2]: 0xc000, [-1]: 0xbc00, 0: 0, 1: 0x3c00, 2: 0x4000 };

function setWhole(array: NDArray, i: number, value: number): void {
  array.data[i] = array.dtype.name === 'float16' ? halves[value]! : value;
}

const devices = { reference: new ReferenceDevice(), cpu: CpuDevice.open() };

/** One graph: its record for TensorFlow, and what our devices disagree on. */
export async function examine(seed: number): Promise<{ record: CaseRecord; problems: string[] }> {
  const chance = new Chance(seed);
  const g = randomGraph(chance);
  const forward = g.graph.operations.length;
  const base = {
    id: `fuzz/${seed}`,
    op: 'fuzz',
    forward,
    targets: [],
    initialize: [],
    fetches: g.fetches.map((t) => t.name),
    widened: false,
  };
  const feeds = [...g.feeds];
  const problems: string[] = [];
  let outputs: NDArray[] | undefined;
  let error: string | undefined;
  let gradient: GradientRecord | undefined;
  const check = async (what: string, fetches: readonly Tensor[], values: readonly NDArray[]) => {
    if (!devices.cpu) return;
    const others = await evaluate(g, fetches, feeds, devices.cpu, true);
    for (const [i, array] of values.entries()) {
      const limit = (tolerances[array.dtype.storage] ?? 0) * slack;
      const apart = worstDifference(others[i]!, array);
      if (apart > limit)
        problems.push(`${seed}: ${what} ${fetches[i]!.name} differs by ${apart} between cpu and reference`);
    }
  };
  try {
    outputs = await evaluate(g, g.fetches, feeds, devices.reference, false);
    await check('value', g.fetches, outputs);
    const made = addGradients(g, outputs, chance);
    if (made) {
      feeds.push(...made.fed);
      const tensors = made.grads.flatMap((x) =>
        x === null ? [] : x instanceof IndexedSlices ? [x.values, x.indices] : [x],
      );
      const values = await evaluate(g, tensors, feeds, devices.reference, false);
      await check('gradient', tensors, values);
      let next = 0;
      gradient = {
        ys: made.ys.map((t) => t.name),
        gradYs: made.gradYs.map((t) => t.name),
        xs: g.xs.map((t) => t.name),
        grads: made.grads.map((x) =>
          x instanceof IndexedSlices ? ([x.values.name, x.indices.name] as const) : (x?.name ?? null),
        ),
        values: made.grads.map((x) => {
          if (x === null) return null;
          const first = arrayRecord(values[next++]!);
          return x instanceof IndexedSlices ? ([first, arrayRecord(values[next++]!)] as const) : first;
        }),
      };
    }
  } catch (failure) {
    error = failure instanceof Error ? failure.message : String(failure);
    problems.push(`${seed}: ${error}`);
  }
  const record: CaseRecord = {
    ...base,
    graph: graphRecord(g.graph, g.graph.versions.producer),
    feeds: Object.fromEntries(feeds.map(([t, array]) => [t.name, arrayRecord(array)])),
    outputs: outputs?.map(arrayRecord),
    error,
    shapes: shapesOf(g.graph),
    gradient,
    tolerance: 3e-4,
  };
  return { record, problems };
}
