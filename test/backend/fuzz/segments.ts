/** @file Random segments of every kind of instruction, and how far two devices may differ on them. */
import * as d from '../../../src/core/dtypes.ts';
import { fromElements } from '../../../src/core/ndarray.ts';
import { sizeOf } from '../../../src/core/shape.ts';
import * as e from '../../../src/program/expr.ts';
import { canFail } from '../../../src/program/inspect.ts';
import {
  Buffer,
  type DotInstruction,
  type MapInstruction,
  type ReduceOp,
  type RowStep,
  type View,
  type WindowOp,
} from '../../../src/program/instructions.ts';
import { broadcast, restride, SegmentBuilder, viewOf } from '../build.ts';
import type { Chance } from './chance.ts';
import { ExpressionMaker, fuzzDtypes } from './expressions.ts';
import { randomArray, randomInput, randomOutput, randomShape } from './views.ts';

/** A segment, and the number of roundings whose errors may add up in one element of its results. */
export interface RandomSegment {
  readonly builder: SegmentBuilder;
  readonly terms: number;
}

const reals = fuzzDtypes.filter((dtype) => !dtype.isBool && !dtype.isComplex);
const arithmetic = fuzzDtypes.filter((dtype) => !dtype.isBool);

function randomMap(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  b.add(mapIn(chance, b));
  return { builder: b, terms: 1 };
}

function mapIn(chance: Chance, b: SegmentBuilder): MapInstruction {
  const shape = randomShape(chance);
  const dtypes = Array.from({ length: chance.integer(1, 4) }, () => chance.pick(fuzzDtypes));
  const inputs = dtypes.map((dtype) => randomInput(chance, b, dtype, shape));
  const maker = new ExpressionMaker(chance, dtypes, shape.length);
  const results = Array.from({ length: chance.integer(1, 3) }, () => maker.make(chance.pick(fuzzDtypes)));
  const outputs = results.map((result) => randomOutput(chance, b, result.dtype, shape));
  // Now and then the first output is an input of its dtype, when nothing in that input lies on itself.
  const inPlace = inputs.find((view) => view.dtype === results[0]!.dtype && view.strides.every((s) => s !== 0));
  if (inPlace && chance.happens(0.5)) outputs[0] = inPlace;
  return { kind: 'map', shape, inputs, outputs, results };
}

function randomReduce(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  const shape = randomShape(chance);
  const position = chance.happens(0.2) && shape.length > 0;
  const axes = position
    ? [chance.integer(0, shape.length - 1)]
    : shape.flatMap((_, axis) => (chance.happens(0.5) ? [axis] : []));
  const dtype = chance.pick(position ? reals : fuzzDtypes);
  const dtypes = [dtype, chance.pick(fuzzDtypes)];
  const inputs = dtypes.map((own) => randomInput(chance, b, own, shape));
  const maker = new ExpressionMaker(chance, dtypes, shape.length);
  // Positions of extremes jump, so they are asked of exact values only.
  const result = position ? maker.leaf(dtype) : maker.make(dtype, chance.integer(0, 3));
  const ops: readonly ReduceOp[] = position
    ? ['argmax', 'argmin']
    : dtype.isBool
      ? ['any', 'all']
      : dtype.isComplex
        ? ['sum']
        : ['sum', 'sum', 'prod', 'max', 'min'];
  const kept = shape.filter((_, axis) => !axes.includes(axis));
  const output = randomOutput(chance, b, position ? chance.pick([d.int32, d.int64]) : dtype, kept);
  b.add({ kind: 'reduce', op: chance.pick(ops), shape, axes, inputs, result, output });
  return { builder: b, terms: sizeOf(axes.map((axis) => shape[axis]!)) + 1 };
}

function randomDot(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  const dot = dotIn(chance, b);
  b.add(dot);
  return { builder: b, terms: dot.a.shape.at(-1)! + 3 };
}

function dotIn(chance: Chance, b: SegmentBuilder): DotInstruction {
  const dtype = chance.pick(arithmetic);
  const batch = randomShape(chance, 2).map((size) => Math.min(size, 3));
  const size = () => (chance.happens(0.03) ? 0 : chance.integer(1, chance.happens(0.2) ? 70 : 8));
  const [m, k, n] = [size(), size(), size()];
  const shape = [...batch, m, n];
  const isFast = dtype === d.float32 || dtype === d.float64;
  // A product that is not stored, one that is added to something, one that is added to what its output holds.
  const passing = isFast && chance.happens(0.3);
  const local = viewOf(new Buffer('temp', sizeOf(shape) * dtype.size), dtype, shape);
  const output = passing ? local : randomOutput(chance, b, dtype, shape);
  const addend = chance.happens(0.5) && !passing ? output : randomInput(chance, b, dtype, shape);
  return {
    kind: 'dot',
    a: randomInput(chance, b, dtype, [...batch, m, k]),
    b: randomInput(chance, b, dtype, [...batch, k, n]),
    output,
    ...(isFast && chance.happens(0.4) ? { plus: addend } : {}),
    ...(passing || chance.happens(0.6) ? { after: mapOnProduct(chance, b, output, passing) } : {}),
    ...(passing ? { passing } : {}),
  };
}

/** A map over a product, into its own place, into another one, or both. */
function mapOnProduct(chance: Chance, b: SegmentBuilder, product: View, passing: boolean): MapInstruction {
  const { shape, dtype } = product;
  const dtypes = [dtype, chance.pick(fuzzDtypes)];
  const others = dtypes.map((own) => randomInput(chance, b, own, shape));
  const maker = new ExpressionMaker(chance, dtypes, shape.length);
  // The product is not in [-1, 1], so it only takes part in what cannot enlarge a difference.
  const result = () => chance.pick([e.add, e.sub, e.mul])(e.input(2, dtype), maker.make(dtype));
  const outputs = passing ? (['other'] as const) : chance.pick([['own'], ['other'], ['other', 'own']] as const);
  return {
    kind: 'map',
    shape,
    inputs: [...others, product],
    outputs: outputs.map((place) => (place === 'own' ? product : randomOutput(chance, b, dtype, shape))),
    results: outputs.map(result),
  };
}

function randomConv(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  const dtype = chance.pick([d.float32, d.float32, d.float64, d.int32, d.complex64]);
  const axes = Array.from({ length: chance.integer(1, 3) }, () => {
    const [taps, stride, dilation] = [chance.integer(1, 4), chance.integer(1, 3), chance.integer(1, 3)];
    const [input, before] = [chance.integer(1, 9), chance.integer(0, 3)];
    const fitting = Math.floor((input + before + chance.integer(0, 3) - (taps - 1) * dilation - 1) / stride) + 1;
    return { taps, stride, dilation, input, before, output: Math.max(0, fitting) };
  });
  const [batch, groups] = [chance.integer(1, 3), chance.pick([1, 1, 2, 5])];
  const count = () => (chance.happens(0.1) ? chance.integer(20, 40) : chance.integer(1, 4));
  const [channels, features] = [count(), count()];
  const shapes = {
    input: [batch, groups, channels, ...axes.map((a) => a.input)],
    filter: [groups, features, channels, ...axes.map((a) => a.taps)],
    output: [batch, groups, features, ...axes.map((a) => a.output)],
  };
  const result = chance.pick(['output', 'input', 'filter'] as const);
  const view = (name: keyof typeof shapes) =>
    (name === result ? randomOutput : randomInput)(chance, b, dtype, shapes[name]);
  b.add({
    kind: 'conv',
    result,
    input: view('input'),
    filter: view('filter'),
    output: view('output'),
    strides: axes.map((a) => a.stride),
    dilations: axes.map((a) => a.dilation),
    before: axes.map((a) => a.before),
  });
  const summed = {
    output: sizeOf(shapes.filter.slice(2)),
    input: sizeOf(shapes.filter.slice(3)) * features,
    filter: batch * sizeOf(shapes.output.slice(3)),
  };
  return { builder: b, terms: summed[result] + 1 };
}

const windowOps: readonly WindowOp[] = [
  ...(['max', 'argmax', 'sum', 'mean', 'pick'] as const),
  ...(['maxGradient', 'positiveMaxGradient', 'nearGradient', 'meanGradient'] as const),
];

function randomWindow(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  const op = chance.pick(windowOps);
  const summable = [d.float16, d.bfloat16, d.float32, d.float32, d.float64, d.int32, d.int64];
  const isFloatOnly = op.endsWith('Gradient') && op !== 'maxGradient';
  const dtype = chance.pick(
    isFloatOnly ? summable.slice(0, 5) : op === 'sum' || op === 'mean' ? summable : [...reals, d.float32],
  );
  const isPartition = chance.happens(0.3);
  const axes = Array.from({ length: chance.integer(1, 3) }, () => {
    if (isPartition) return partition(chance.integer(1, 5), chance.pick([2, 2, 3]));
    const [image, pooled, longest] = [chance.integer(1, 9), chance.integer(1, 6), chance.integer(1, 9)];
    const step = chance.integer(1, 2);
    const ordered = chance.happens(0.5);
    const spans = Array.from({ length: pooled }, (_, i) => {
      const begin = ordered ? i * step - 1 : chance.integer(-2, image);
      return [begin, begin + (ordered ? longest : chance.integer(0, longest))];
    });
    return { image, pooled, spans };
  });
  const [batch, channels] = [chance.integer(1, 3), chance.pick([1, 1, 3, 17, chance.integer(1, 40)])];
  const image = [batch, ...axes.map((a) => a.image), channels];
  const pooled = [batch, ...axes.map((a) => a.pooled), channels];
  const spans = axes.map((a) => b.input(a.spans, d.int64));
  const wide = () => randomInput(chance, b, dtype, image);
  const x = wide();
  const y = b.output(dtype, pooled);
  // The pooled values that equality is asked with are those of the windows themselves, or there would be none.
  b.add({ kind: 'window', op: 'max', inputs: [x], spans, output: y });
  const dy = randomInput(chance, b, dtype, pooled);
  const inputs = {
    ...{ max: [x], argmax: [x], sum: [x], mean: [x] },
    ...{
      pick: [x, y, wide()],
      maxGradient: [x, dy],
      positiveMaxGradient: [x, dy],
      nearGradient: [x, y, dy],
      meanGradient: [dy],
    },
  }[op];
  const output = randomOutput(chance, b, op === 'argmax' ? d.int64 : dtype, op.endsWith('Gradient') ? image : pooled);
  b.add({ kind: 'window', op, inputs, spans, output });
  return { builder: b, terms: sizeOf(axes.map((a) => Math.max(a.image, a.pooled))) };
}

/** Windows side by side over all of an axis. */
function partition(pooled: number, size: number) {
  const spans = Array.from({ length: pooled }, (_, i) => [i * size, (i + 1) * size]);
  return { image: pooled * size, pooled, spans };
}

function randomIndices(
  chance: Chance,
  b: SegmentBuilder,
  shape: readonly number[],
  dims: readonly number[],
  wild: boolean,
) {
  const dtype = chance.pick([d.int32, d.int64]);
  const values = Array.from({ length: sizeOf(shape) }, (_, i) => {
    const size = dims[i % dims.length]!;
    return wild && chance.happens(0.2) ? chance.pick([-1, size, size + 3]) : chance.integer(0, size - 1);
  });
  return b.bind(fromElements(dtype, shape, values));
}

function randomGather(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  const dtype = chance.pick(fuzzDtypes);
  const [batch, outer, count, inner] = [
    chance.integer(1, 3),
    chance.integer(1, 3),
    chance.integer(0, 6),
    chance.integer(1, 9),
  ];
  const dims = Array.from({ length: chance.integer(1, 2) }, () => chance.integer(1, 5));
  const bounds = chance.pick(['error', 'zero'] as const);
  const params = b.bind(randomArray(chance, dtype, [batch, outer, ...dims, inner]));
  const indices = randomIndices(chance, b, [batch, count, dims.length], dims, bounds === 'zero' || chance.happens(0.1));
  b.add({ kind: 'gather', params, indices, output: b.output(dtype, [batch, outer, count, inner]), bounds });
  return { builder: b, terms: 1 };
}

function randomScatter(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  const combine = chance.pick(['update', 'add', 'sub', 'mul', 'min', 'max'] as const);
  const dtype = chance.pick(combine === 'update' ? fuzzDtypes : reals);
  const dims = Array.from({ length: chance.integer(1, 2) }, () => chance.integer(1, 5));
  const [count, inner] = [chance.integer(0, 9), chance.integer(1, 5)];
  const bounds = chance.pick(['error', 'drop', 'dropNegative'] as const);
  const target = b.bind(randomArray(chance, dtype, [...dims, inner]));
  const indices = randomIndices(chance, b, [count, dims.length], dims, bounds === 'drop' || chance.happens(0.1));
  const updates = randomInput(chance, b, dtype, [count, inner]);
  b.add({ kind: 'scatter', combine, target, indices, updates, bounds });
  return { builder: b, terms: count + 1 };
}

function randomScan(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  const op = chance.pick(['sum', 'prod', 'logsumexp'] as const);
  const dtype = chance.pick(op === 'logsumexp' ? [d.float32, d.float64] : reals);
  const shape = [chance.integer(1, 4), chance.integer(0, 12), chance.integer(1, 5)];
  const [exclusive, reverse] = [chance.happens(0.5), chance.happens(0.5)];
  const input = b.bind(randomArray(chance, dtype, shape));
  b.add({ kind: 'scan', op, input, output: b.output(dtype, shape), exclusive, reverse });
  return { builder: b, terms: shape[1]! + 1 };
}

function randomTopK(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  const dtype = chance.pick(reals);
  const [rows, n] = [chance.integer(1, 4), chance.integer(1, 40)];
  const k = chance.integer(0, n);
  const input = b.bind(randomArray(chance, dtype, [rows, n]));
  b.add({ kind: 'topk', input, values: b.output(dtype, [rows, k]), indices: b.output(d.int32, [rows, k]) });
  return { builder: b, terms: 1 };
}

/** Maps and reductions over the same rows, some of which leave results that only later ones read. */
function randomBlocks(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  const rows = chance.integer(1, 60);
  const columns = chance.integer(1, chance.happens(0.2) ? 300 : 12);
  const dtype = chance.pick([d.float32, d.float64, d.float16, d.int32]);
  const locals = new Set<Buffer>();
  const steps: RowStep[] = [];
  /** What steps can read, all with the shape of the rows. */
  const readable: View[] = [
    b.bind(randomArray(chance, dtype, [rows, columns])),
    broadcast(b.bind(randomArray(chance, dtype, [columns])), [rows, columns]),
    broadcast(b.bind(randomArray(chance, dtype, [rows, 1])), [rows, columns]),
  ];
  const result = (shape: readonly number[]): View => {
    if (chance.happens(0.3)) return b.output(dtype, shape);
    const buffer = new Buffer('temp', sizeOf(shape) * dtype.size);
    locals.add(buffer);
    return viewOf(buffer, dtype, shape);
  };
  for (let left = chance.integer(1, 6); left > 0; left--) {
    const inputs = [chance.pick(readable), chance.pick(readable)];
    const maker = new ExpressionMaker(chance, [dtype, dtype], 0);
    const shape = [rows, columns];
    const kind = chance.pick(['map', 'map', 'within', 'across'] as const);
    if (kind === 'map') {
      const output = result(shape);
      steps.push({ kind: 'map', shape, inputs, outputs: [output], results: [maker.make(dtype)] });
      readable.push(output);
      continue;
    }
    const axes = kind === 'within' ? [1] : chance.happens(0.5) ? [0] : [0, 1];
    const kept = shape.filter((_, axis) => !axes.includes(axis));
    const output = kind === 'within' ? result(kept) : b.output(dtype, kept);
    // A mean would not, but a sum leaves [-1, 1].
    const op = kind === 'within' ? chance.pick(['max', 'min'] as const) : chance.pick(['sum', 'max', 'min'] as const);
    steps.push({ kind: 'reduce', op, shape, axes, inputs, result: maker.make(dtype), output });
    if (kind === 'within') readable.push(restride(output, shape, [1, 0]));
  }
  b.add({ kind: 'blocks', rows, steps, locals });
  return { builder: b, terms: rows * columns + 10 };
}

/** A convolution with what follows it, and what comes before its gradients, image by image. */
function randomImageBlocks(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  const dtype = chance.pick([d.float32, d.float32, d.float64]);
  const [rows, pooled] = [chance.integer(1, 20), [chance.integer(1, 4), chance.integer(1, 4)]];
  const [channels, features, taps] = [chance.pick([1, 3]), chance.pick([1, 5, 32]), chance.integer(1, 3)];
  const windows = pooled.map((n) => partition(n, 2));
  const size = windows.map((w) => w.image);
  const locals = new Set<Buffer>();
  const result = (shape: readonly number[]): View => {
    if (chance.happens(0.3)) return b.output(dtype, shape);
    const buffer = new Buffer('temp', sizeOf(shape) * dtype.size);
    locals.add(buffer);
    return viewOf(buffer, dtype, shape);
  };
  const given = (...shape: number[]) => b.bind(randomArray(chance, dtype, shape));
  /** An array [rows, height, width, channels] as convolutions see it. */
  const imagesOf = ({ buffer, shape: [n, h, w, c] }: View): View => ({
    ...viewOf(buffer, dtype, [n!, 1, c!, h!, w!]),
    strides: [h! * w! * c!, h! * w! * c!, 1, w! * c!, c!],
  });
  /** An array [taps, taps, channels, features] as convolutions see it. */
  const filterOf = (buffer: Buffer): View => ({
    ...viewOf(buffer, dtype, [1, features, channels, taps, taps]),
    strides: [0, 1, features, taps * channels * features, channels * features],
  });
  const [image, wide] = [given(rows, ...size, channels), [rows, ...size, features]];
  const filter = given(taps, taps, channels, features);
  const spans = windows.map((w) => b.input(w.spans, d.int64));
  const geometry = { strides: [1, 1], dilations: [1, 1], before: [chance.integer(0, 2), chance.integer(0, 2)] };
  const conv = { kind: 'conv', ...geometry, input: imagesOf(image), filter: filterOf(filter.buffer) } as const;
  const [product, active, gradient, masked] = [result(wide), result(wide), result(wide), result(wide)];
  const [x0, x1] = [e.input(0, dtype), e.input(1, dtype)];
  const map = (inputs: View[], output: View, value: e.Expr): RowStep => ({
    ...{ kind: 'map', shape: wide, inputs, outputs: [output], results: [value] },
  });
  const forward: RowStep[] = [
    { ...conv, result: 'output', output: imagesOf(product) },
    map([product, broadcast(given(features), wide)], active, e.max(e.add(x0, x1), 0)),
    { kind: 'window', op: 'max', inputs: [active], spans, output: b.output(dtype, [rows, ...pooled, features]) },
  ];
  // Which of two numbers is larger must not depend on how they were computed.
  const pool = { kind: 'window', inputs: [given(...wide), given(rows, ...pooled, features)], spans } as const;
  const backward: RowStep[] = [
    { ...pool, op: chance.pick(['maxGradient', 'positiveMaxGradient'] as const), output: gradient },
    map([gradient, given(...wide)], masked, e.mul(x0, x1)),
    {
      ...{ kind: 'reduce', op: 'sum', shape: wide, axes: [0, 1, 2], inputs: [masked], result: x0 },
      output: b.output(dtype, [features]),
    },
    { ...conv, result: 'input', input: imagesOf(result(image.shape)), output: imagesOf(masked) },
    {
      ...{ ...conv, result: 'filter', output: imagesOf(masked) },
      filter: filterOf(b.output(dtype, filter.shape).buffer),
    },
  ];
  b.add({ kind: 'blocks', rows, steps: chance.happens(0.5) ? [...forward, ...backward] : backward, locals });
  return { builder: b, terms: rows * sizeOf(size) + 10 };
}

/** Maps and products that have nothing to do with each other. */
function randomTogether(chance: Chance): RandomSegment {
  const b = new SegmentBuilder();
  const steps = Array.from({ length: chance.integer(2, 6) }, () => chance.pick([mapIn, dotIn])(chance, b));
  // What can fail is not run together with others.
  const safe = steps.filter((step) => step.kind === 'dot' || !step.results.some((r) => canFail(r)));
  b.add({ kind: 'together', steps: safe });
  return { builder: b, terms: 73 };
}

/** The kinds of random segments, and how many of each 300 there are. */
export const segmentKinds: Record<
  string,
  { readonly share: number; readonly make: (chance: Chance) => RandomSegment }
> = {
  map: { share: 120, make: randomMap },
  reduce: { share: 60, make: randomReduce },
  dot: { share: 120, make: randomDot },
  conv: { share: 60, make: randomConv },
  blocks: { share: 60, make: randomBlocks },
  imageBlocks: { share: 30, make: randomImageBlocks },
  together: { share: 30, make: randomTogether },
  gather: { share: 25, make: randomGather },
  scatter: { share: 25, make: randomScatter },
  scan: { share: 15, make: randomScan },
  topk: { share: 15, make: randomTopK },
  window: { share: 60, make: randomWindow },
};
