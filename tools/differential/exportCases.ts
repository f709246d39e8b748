/**
 * @file Writes every op case, in every type the op admits, as a GraphDef with feeds, our outputs, gradients and static
 * shapes. `compare.py` holds them against real TensorFlow.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import '../../src/ops/index.ts';
import { gradients } from '../../src/autodiff/index.ts';
import { allDtypes, type DType } from '../../src/core/dtypes.ts';
import { fromElements, type NDArray } from '../../src/core/ndarray.ts';
import { CpuDevice } from '../../src/devices/cpu/device.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { IndexedSlices } from '../../src/graph/indexedSlices.ts';
import { Tensor } from '../../src/graph/tensor.ts';
import type { ValueCase } from '../../src/op/cases.ts';
import { type OpDefinition, registry } from '../../src/op/registry.ts';
import { placeholder } from '../../src/ops/array/index.ts';
import { NodeDef } from '../../src/proto/graph.ts';
import { CaseRunner } from '../../test/backend/caseRunner.ts';
import { Chance } from '../../test/backend/fuzz/chance.ts';
import {
  addOp,
  type BuiltCase,
  buildInputs,
  buildShapeCase,
  type CaseGraph,
  type CaseInput,
  caseInputs,
  isContinuous,
  isShapeCase,
  isVariablePort,
  retype,
} from '../../test/backend/opCases.ts';
import { arrayRecord, type CaseRecord, type GradientRecord, graphRecord, shapesOf } from './records.ts';

const device = CpuDevice.open() ?? new ReferenceDevice();
/** Ops whose nodes mean something only in the process that made them. */
const bound = new Set(['PyFunc', 'PyFuncStateless', 'Placeholder', 'Print', 'PrintV2']);

const message = (error: unknown) => (error instanceof Error ? error.message : String(error));
const unfetchable = (dtype: DType) => dtype.name === 'resource' || dtype.name === 'variant';

/** Whether TensorFlow does not say what this output is; ops with such outputs have no list ports. */
const isUnspecified = (op: OpDefinition, c: ValueCase, { index }: Tensor) =>
  c.unspecified?.includes(op.outputPorts[index]?.name ?? '') ?? false;

/** Deprecated ops are only accepted in graphs of their time. */
const producerOf = (op: OpDefinition, graph: { versions: { producer: number } }) =>
  op.deprecatedSince === undefined ? graph.versions.producer : op.deprecatedSince - 1;

/** A node that could not be built here, as TensorFlow would get it. */
function refusedNode(op: OpDefinition, { tensors, attrs }: CaseGraph): NodeDef {
  let complete = attrs;
  try {
    complete = op.complete(attrs, tensors);
  } catch {
    // The attributes themselves were refused; TensorFlow has to look at them as they are.
  }
  const input = tensors.map((t) => (t.index === 0 ? t.op.name : t.name));
  return NodeDef.create({ name: op.name, op: op.name, input, attr: complete });
}

async function record(
  id: string,
  op: OpDefinition,
  c: ValueCase,
  { inputs, attrs, widened }: Variant,
): Promise<CaseRecord> {
  const made = buildInputs(op, inputs, attrs ?? {});
  const { graph, feeds, variables } = made;
  const fed: (readonly [Tensor, NDArray])[] = [...feeds];
  const feedRecords = () => Object.fromEntries(fed.map(([t, array]) => [t.name, arrayRecord(array)]));
  const common = { id, op: op.name, widened, initialize: variables.map((v) => v.initialize.name), targets: [op.name] };
  let built: BuiltCase;
  try {
    built = { ...made, op: addOp(op, made) };
  } catch (error) {
    const record = graphRecord(graph, producerOf(op, graph), [refusedNode(op, made)]);
    return {
      ...common,
      graph: record,
      forward: 0,
      feeds: feedRecords(),
      fetches: [],
      shapes: {},
      error: message(error),
    };
  }
  const reads = graph.asDefault(() => variables.map((v) => v.read()));
  const comparable = built.op.outputs.filter((t) => !unfetchable(t.dtype) && !isUnspecified(op, c, t));
  const fetched = [...comparable, ...reads];
  // What a variable holds afterwards is read after the op: a control edge orders the two in one run.
  for (const read of reads) read.op.controlInputs = [built.op];
  const base = {
    ...common,
    forward: graph.operations.length,
    fetches: fetched.map((t) => t.name),
    ...(c.tolerance === undefined ? {} : { tolerance: c.tolerance }),
  };
  const runner = new CaseRunner(graph, device);
  let outputs: readonly NDArray[] | undefined;
  let error: string | undefined;
  let gradient: GradientRecord | undefined;
  try {
    for (const { initialize } of variables) await runner.run([], [], [initialize]);
    outputs = await runner.run(fetched, feeds, [built.op]);
  } catch (failure) {
    error = message(failure);
  }
  if (outputs && typeof op.gradient === 'function' && c.differentiable !== false && !c.fails)
    gradient = await gradientRecord(built, comparable, outputs, runner, fed);
  return {
    ...base,
    graph: graphRecord(graph, producerOf(op, graph)),
    feeds: feedRecords(),
    shapes: shapesOf(graph),
    outputs: outputs?.map(arrayRecord),
    error,
    gradient,
  };
}

function randomLike(array: NDArray, chance: Chance): NDArray {
  const number = () => 2 * chance.fraction() - 1;
  const elements = Array.from({ length: array.size }, () =>
    array.dtype.isComplex ? { re: number(), im: number() } : number(),
  );
  return fromElements(array.dtype, array.shape, elements);
}

async function gradientRecord(
  { graph, feeds }: BuiltCase,
  comparable: readonly Tensor[],
  outputs: readonly NDArray[],
  runner: CaseRunner,
  fed: (readonly [Tensor, NDArray])[],
): Promise<GradientRecord | undefined> {
  const chance = new Chance(7);
  const ys = comparable.filter((t) => isContinuous(t.dtype));
  const xs = feeds.map(([t]) => t).filter((t) => isContinuous(t.dtype));
  if (ys.length === 0 || xs.length === 0) return undefined;
  return graph.asDefault(async () => {
    const gradYs = ys.map((y, i) => {
      const value = randomLike(outputs[comparable.indexOf(y)]!, chance);
      const t = placeholder(value.dtype, value.shape, { name: `dy_${i}` });
      fed.push([t, value]);
      return t;
    });
    const names = { ys: ys.map((t) => t.name), gradYs: gradYs.map((t) => t.name), xs: xs.map((t) => t.name) };
    try {
      const grads = gradients(ys, xs, { gradYs });
      const values: GradientRecord['values'][number][] = [];
      for (const g of grads) {
        if (g === null) values.push(null);
        else if (g instanceof Tensor) values.push(arrayRecord((await runner.run([g], fed))[0]!));
        else {
          const [v, i] = await runner.run([g.values, g.indices], fed);
          values.push([arrayRecord(v!), arrayRecord(i!)]);
        }
      }
      const named = grads.map((g) =>
        g instanceof IndexedSlices ? ([g.values.name, g.indices.name] as const) : (g?.name ?? null),
      );
      return { ...names, grads: named, values };
    } catch (error) {
      return { ...names, grads: [], values: [], error: message(error) };
    }
  });
}

/** Types worth trying beside the case's own: everything numeric the attribute admits. */
function alternatives(op: OpDefinition, name: string, own: DType | undefined): DType[] {
  const { allowed } = op.attrSpecs[name]!;
  return (allowed ?? allDtypes).filter((d) => d !== own && !d.isObject && !d.name.startsWith('q'));
}

interface Variant {
  readonly suffix: string;
  readonly inputs: readonly CaseInput[];
  readonly attrs: ValueCase['attrs'];
  readonly widened: boolean;
}

/** The case as written, then once for every other type of each type attribute. */
function* variants(op: OpDefinition, c: ValueCase): Generator<Variant> {
  const inputs = caseInputs(op, c);
  yield { suffix: '', inputs, attrs: c.attrs, widened: false };
  if (c.fails) return;
  for (const [name, spec] of Object.entries(op.attrSpecs)) {
    if (spec.kind !== 'type') continue;
    const users = inputs.filter((i) => i.port.typeAttr === name && !isVariablePort(i.port));
    const own = users[0]?.array.dtype;
    if (users.some((u) => u.array.dtype.isObject)) continue;
    const inAttrs = c.attrs && name in c.attrs;
    if (!own && inputs.some((i) => i.port.typeAttr === name)) continue;
    for (const dtype of alternatives(op, name, own)) {
      const attrs = inAttrs || !own ? { ...c.attrs, [name]: dtype } : c.attrs;
      yield { suffix: `/${name}=${dtype}`, inputs: retype(inputs, name, dtype), attrs, widened: true };
    }
  }
}

function* shapeRecords(op: OpDefinition): Generator<CaseRecord> {
  for (const [i, c] of op.cases().entries()) {
    if (!isShapeCase(c)) continue;
    const id = `${op.name}/${i}`;
    const base = { id, op: op.name, widened: false, targets: [], initialize: [], feeds: {}, fetches: [], outputs: [] };
    try {
      const { graph } = buildShapeCase(op, c).node;
      yield {
        ...base,
        graph: graphRecord(graph, producerOf(op, graph)),
        forward: graph.operations.length,
        shapes: shapesOf(graph),
      };
    } catch {
      // A refused shape has no GraphDef; the text of the refusal is ours and is tested by the case.
    }
  }
}

/** Writes the records of all ops, or of some, to a file; gives their number. */
export async function exportCases(file: string, only: readonly string[]): Promise<number> {
  const out = openSync(file, 'w');
  let count = 0;
  const write = (r: CaseRecord) => {
    writeSync(out, `${JSON.stringify(r)}\n`);
    count++;
  };
  for (const op of registry.values()) {
    if (bound.has(op.name) || (only.length > 0 && !only.includes(op.name))) continue;
    for (const r of shapeRecords(op)) write(r);
    for (const [i, c] of op.cases().entries()) {
      if (isShapeCase(c)) continue;
      for (const variant of variants(op, c)) write(await record(`${op.name}/${i}${variant.suffix}`, op, c, variant));
    }
  }
  closeSync(out);
  return count;
}
