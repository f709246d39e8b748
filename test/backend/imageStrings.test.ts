/** @file Image, string and sorting functions give the nodes, static shapes and values that TensorFlow gives. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { expect, it } from 'vitest';

interface Golden {
  readonly nodes: readonly (readonly [string, string, readonly string[]])[];
  readonly shapes: readonly (readonly (number | null)[] | null)[];
  readonly values: readonly unknown[];
  readonly dtypes: readonly string[];
}
// The file is written by tools/golden/imageStrings.py in just this form.
const golden = JSON.parse(readFileSync(new URL('../golden/imageStrings.json', import.meta.url), 'utf8')) as Record<
  string,
  Golden
>;

type Static = readonly (number | null)[] | null;
type Nested = number | string | readonly Nested[];
let feeds: [tf.Tensor, Nested][] = [];

/** A placeholder fed with 0, 37, 74 … wrapped to the type's use. */
function x(dtype: tf.DType, shape: readonly number[], fixed: Static = shape, name = 'x'): tf.Tensor {
  let next = -37;
  const wrap = (n: number) => (dtype.isFloating ? (n % 101) / 100 : dtype.isUnsigned ? n % 256 : (n % 19) - 9);
  const build = (axis: number): Nested => {
    if (axis < shape.length) return Array.from({ length: shape[axis]! }, () => build(axis + 1));
    next += 37;
    return wrap(next);
  };
  const tensor = tf.placeholder(dtype, fixed, { name });
  feeds.push([tensor, build(0)]);
  return tensor;
}

function size(value: number): tf.Tensor {
  const tensor = tf.placeholder(tf.int32, [], { name: 'o' });
  feeds.push([tensor, value]);
  return tensor;
}

function strings(values: readonly string[] | readonly (readonly string[])[], fixed?: Static): tf.Tensor {
  const shape = Array.isArray(values[0]) ? [values.length, values[0].length] : [values.length];
  const tensor = tf.placeholder(tf.string, fixed === undefined ? shape : fixed, { name: 'x' });
  feeds.push([tensor, values]);
  return tensor;
}

const { image, float32: F, uint8: U } = tf;
const grid = [['a', 'b'], ['c', 'd']]; // biome-ignore format: rows

const programs: Record<string, () => tf.Tensor | readonly tf.Tensor[]> = {
  brightness: () => image.adjustBrightness(x(F, [4, 4, 3]), 0.5),
  'brightness of bytes': () => image.adjustBrightness(x(U, [4, 4, 3]), 0.5),
  contrast: () => image.adjustContrast(x(F, [4, 4, 3]), 0.5),
  'contrast of bytes': () => image.adjustContrast(x(U, [4, 4, 3]), 0.5),
  gamma: () => image.adjustGamma(x(U, [4, 4, 3]), { gamma: 2.5, gain: 0.5 }),
  'gamma as a tensor': () => {
    const images = x(F, [4, 4, 3]);
    return image.adjustGamma(images, { gamma: x(F, [], [], 'g'), gain: 0.5 });
  },
  hue: () => image.adjustHue(x(U, [4, 4, 3]), 0.25),
  saturation: () => image.adjustSaturation(x(F, [4, 4, 3]), 0.25),
  'random brightness': () => image.randomBrightness(x(F, [4, 4, 3]), 0.25, { seed: 7 }),
  'random contrast': () => image.randomContrast(x(F, [4, 4, 3]), 0.25, 0.75, { seed: 7 }),
  'random hue': () => image.randomHue(x(F, [4, 4, 3]), 0.25, { seed: 7 }),
  'random saturation': () => image.randomSaturation(x(F, [4, 4, 3]), 0.25, 0.75, { seed: 7 }),
  'flip left right': () => image.flipLeftRight(x(F, [2, 3, 1])),
  'flip a batch': () => image.flipUpDown(x(F, [2, 3, 2, 1])),
  'flip of unknown size': () => image.flipUpDown(x(F, [2, 3, 1], [null, null, 1])),
  transpose: () => image.transposeImage(x(F, [2, 3, 2, 1])),
  'central crop': () => image.centralCrop(x(F, [4, 6, 1]), 0.5),
  'central crop of a batch': () => image.centralCrop(x(F, [2, 5, 6, 1]), 0.3),
  'central crop of unknown size': () => image.centralCrop(x(F, [2, 5, 6, 1], [null, 5, null, 1]), 0.3),
  crop: () => image.cropToBoundingBox(x(F, [4, 6, 1]), 1, 2, 2, 3),
  'crop of unknown size': () => image.cropToBoundingBox(x(F, [2, 4, 6, 1], [null, null, 6, 1]), 1, 2, 2, 3),
  'crop at a tensor': () => {
    const images = x(F, [4, 6, 1]);
    return image.cropToBoundingBox(images, size(1), 2, 2, 3);
  },
  pad: () => image.padToBoundingBox(x(F, [2, 3, 1]), 1, 2, 4, 6),
  'pad of unknown size': () => image.padToBoundingBox(x(F, [2, 3, 1], [null, 3, 1]), 1, 2, 4, 6),
  'crop or pad': () => image.resizeImageWithCropOrPad(x(F, [4, 6, 1]), 5, 5),
  'crop or pad of unknown size': () => image.resizeImageWithCropOrPad(x(F, [1, 4, 6, 1], [null, null, null, 1]), 5, 5),
  'crop or pad to a tensor': () => {
    const images = x(F, [4, 6, 1], [null, null, 1]);
    return image.resizeImageWithCropOrPad(images, size(5), 5);
  },
  standardization: () => image.perImageStandardization(x(U, [4, 6, 1])),
  'bytes to floats': () => image.convertImageDtype(x(U, [5]), F),
  'floats to bytes': () => image.convertImageDtype(x(F, [5]), U, { saturate: true }),
  'floats to int32': () => image.convertImageDtype(x(F, [5]), tf.int32),
  'bytes to int16': () => image.convertImageDtype(x(U, [5]), tf.int16),
  'int32 to bytes': () => image.convertImageDtype(x(tf.int32, [5]), U, { saturate: true }),
  'floats to doubles': () => image.convertImageDtype(x(F, [5]), tf.float64),
  'same type': () => image.convertImageDtype(x(F, [5]), F),
  grayscale: () => image.rgbToGrayscale(x(U, [2, 2, 3])),
  'from grayscale': () => image.grayscaleToRgb(x(U, [2, 2, 1])),
  'from grayscale of unknown size': () => image.grayscaleToRgb(x(U, [2, 2, 1], [null, 2, 1])),
  'to hsv': () => image.rgbToHsv(x(F, [2, 2, 3])),
  'from hsv': () => image.hsvToRgb(x(F, [2, 2, 3])),
  'resize bilinear': () => image.resizeBilinear(x(F, [1, 4, 6, 1]), [3, 3]),
  'resize nearest': () => image.resizeNearestNeighbor(x(F, [1, 4, 6, 1]), [3, 3], { alignCorners: true }),
  'crop and resize': () => image.cropAndResize(x(F, [1, 4, 6, 1]), [[0, 0, 1, 1.5]], [0], [2, 2]),
  'image gradients': () => image.imageGradients(x(F, [1, 3, 4, 1])),
  'total variation': () => image.totalVariation(x(F, [2, 3, 4, 1])),
  'total variation of one image': () => image.totalVariation(x(F, [3, 4, 1])),
  'batch norm': () => tf.nn.fusedBatchNorm(x(F, [2, 2, 2, 3]), x(F, [3]), x(F, [3])),
  'batch norm with moments': () =>
    tf.nn.fusedBatchNorm(x(F, [1, 2, 2, 3]), [1.5, 1.5, 1.5], [0.5, 0.5, 0.5], {
      mean: [0.25, 0.25, 0.25],
      variance: [2.5, 2.5, 2.5],
      isTraining: false,
      name: 'q',
    }),
  sort: () => tf.sort(x(F, [4, 3])),
  'sort downwards': () => tf.sort(x(tf.int32, [4, 3]), { direction: 'DESCENDING', axis: 0, name: 'q' }),
  'sort bytes': () => tf.sort(x(U, [2, 3, 2]), { axis: -2 }),
  'sort of unknown rank': () => tf.sort(x(F, [4, 3], null), { axis: 0 }),
  'sort from the end, of unknown rank': () => tf.sort(x(F, [4, 3], null), { axis: -2 }),
  argsort: () => tf.argsort(x(tf.int32, [3, 3, 2]), { axis: 0 }),
  'argsort of a literal': () => tf.argsort([3, 1, 2]),
  argMax: () => tf.argMax(x(F, [2, 3]), 1),
  join: () => tf.stringJoin([strings(['a', 'b']), 'c'], { separator: '-' }),
  'reduce join': () => tf.reduceJoin(strings(grid)),
  'reduce join one axis': () => tf.reduceJoin(strings(grid), 1, { keepdims: true, separator: ',', name: 'q' }),
  'reduce join of unknown rank': () => tf.reduceJoin(strings(grid, null)),
  'as string': () => tf.asString(x(F, [3]), { precision: 1 }),
  substr: () => tf.substr(strings(['hello', 'world']), 1, 2),
  'to number': () => tf.stringToNumber(strings(['12', '-3']), { outType: tf.int32 }),
  strip: () => tf.stringStrip(strings([' a ', 'b'])),
  'regex replace': () => tf.regexReplace(strings(['abc', 'cab']), 'a(.)', '\\1\\1'),
  'regex replace by a tensor': () => tf.regexReplace(strings(['abc', 'cab']), tf.constant('a'), 'x'),
  'regex full match': () => tf.strings.regexFullMatch(strings(['abc', 'cab']), 'a.*'),
  length: () => tf.strings.length(strings(['abc', ''])),
  lower: () => tf.strings.lower(strings(['ABC', 'd']), { encoding: 'utf-8' }),
  upper: () => tf.strings.upper('abc'),
};

/** The numbers or strings of nested arrays, in order. */
const leaves = (value: unknown): unknown[] => (Array.isArray(value) ? value.flatMap(leaves) : [value]);

it.each(Object.keys(golden))('%s', async (name) => {
  const expected = golden[name]!;
  feeds = [];
  const graph = new tf.Graph();
  const results = graph.asDefault(() => [programs[name]!()].flat());
  expect(graph.operations.map((op) => [op.name, op.type, op.inputs.map((t) => t.name)])).toEqual(expected.nodes);
  expect(results.map((t) => t.shape)).toEqual(expected.shapes);
  expect(results.map((t) => t.dtype.name)).toEqual(expected.dtypes);
  const session = new tf.Session({ graph });
  const values = await session.run(results, new Map(feeds));
  for (const [i, value] of values.entries()) {
    const [ours, theirs] = [leaves(value.toArray()), leaves(expected.values[i])];
    expect(ours.length).toBe(theirs.length);
    for (const [k, element] of ours.entries())
      if (typeof element === 'number') expect(element).toBeCloseTo(Number(theirs[k]), 5);
      else expect(element).toEqual(theirs[k]);
  }
});

it('every program has its golden record', () => {
  expect(Object.keys(programs).sort()).toEqual(Object.keys(golden).sort());
});
