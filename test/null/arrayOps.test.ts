/** @file Array functions and their gradients give the nodes, static shapes and values that TensorFlow gives. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { expect, it } from 'vitest';

interface Golden {
  readonly nodes: readonly (readonly [string, string, readonly string[], (readonly string[])?])[];
  readonly shapes: readonly (readonly (number | null)[] | null)[];
  readonly values: readonly { dtype: string; shape: readonly number[]; data: readonly (number | boolean | string)[] }[];
}
// The file is written by tools/golden/arrayOps.py in just this form.
const golden = JSON.parse(readFileSync(new URL('../golden/arrayOps.json', import.meta.url), 'utf8')) as Record<
  string,
  Golden
>;

type Feeds = [tf.Tensor, tf.TensorLike][];
let feeds: Feeds = [];

type Nested = number | boolean | readonly Nested[];

/** A placeholder of the static shape, fed with the value. */
function fed(
  value: Nested,
  shape: readonly (number | null)[] | null,
  name = 'x',
  dtype: tf.DType = tf.float32,
): tf.Tensor {
  const x = tf.placeholder(dtype, shape, { name });
  feeds.push([x, value]);
  return x;
}

/** Fed with 1.5, 2.5, 3.5 … in the given shape. */
function counting(shape: readonly number[], fixed: readonly (number | null)[] | null = shape, name = 'x'): tf.Tensor {
  let next = 1.5;
  const build = (axis: number): Nested =>
    axis === shape.length ? next++ : Array.from({ length: shape[axis]! }, () => build(axis + 1));
  return fed(build(0), fixed, name);
}

/** First and second derivatives of a curved function of y, as dense tensors. */
function grads(y: tf.Tensor, x: tf.Tensor): tf.Tensor[] {
  const first = tf.convertToTensor(tf.gradients(tf.square(y), x)[0]!);
  const second = tf.convertToTensor(tf.gradients(first, x)[0]!);
  return [y, first, second];
}

const scalarInput = (value: number, name: string, dtype = tf.int32 as tf.DType) =>
  tf.placeholderWithDefault(tf.constant(value, { dtype }), [], { name });

const programs: Record<string, () => readonly tf.Tensor[]> = {
  shapes() {
    const x = counting([2, 3]);
    const y = counting([2, 3], [null, 3], 'y');
    return [
      tf.shape(x),
      tf.shape(y),
      tf.size(x),
      tf.size(y),
      tf.rank(x),
      ...tf.shapeN([x, y]),
      tf.shape(y, { outType: tf.int64 }),
    ];
  },
  filled() {
    const n = tf.placeholderWithDefault(tf.constant([2, 2]), [2], { name: 'n' });
    const m = scalarInput(3, 'm');
    return [
      tf.zeros([2, 3]),
      tf.ones([40, 30], { dtype: tf.int32 }),
      tf.zeros(n),
      tf.ones([m, 2]),
      tf.zeros([2], { dtype: tf.string }),
      tf.fill([2, 2], 7),
      tf.ones([2], { dtype: tf.bool }),
      tf.zeros(m),
    ];
  },
  reshaped() {
    const x = counting([4, 3], [null, 3]);
    const n = tf.shape(x).slice([0]);
    const y = tf.reshape(x, [n, 3, 1]);
    return [...grads(tf.reshape(y, [-1, n]), x), y];
  },
  expanded() {
    const x = counting([2, 3]);
    return grads(tf.squeeze(tf.expandDims(tf.expandDims(x, 0), -1), { axis: [0] }), x);
  },
  transposed() {
    const x = counting([2, 3, 4], [null, 3, null]);
    return [...grads(tf.transpose(x, [2, 0, 1]), x), tf.transpose(x), tf.matrixTranspose(x)];
  },
  transposedUnknown() {
    const x = fed(
      [
        [1.5, 2.5],
        [3.5, 4.5],
      ],
      null,
    );
    return [tf.transpose(x), tf.matrixTranspose(x)];
  },
  conjugated() {
    const x = tf.complex(tf.constant([[1, 3]], { dtype: tf.float32 }), tf.constant([[2, -4]], { dtype: tf.float32 }));
    const y = tf.transpose(x, null, { conjugate: true });
    return [tf.real(y), tf.imag(y)];
  },
  concatenated() {
    const x = counting([2, 3]);
    const y = counting([2, 2], undefined, 'y');
    return [...grads(tf.concat([x, y, x], 1), x), tf.concat([x], 0)];
  },
  concatenatedUnknown() {
    const x = counting([2, 3], [null, null]);
    const y = counting([4, 3], [null, 3], 'y');
    return grads(tf.concat([x, y], 0), x);
  },
  concatenatedMany() {
    const x = counting([2, 1]);
    return grads(tf.concat(new Array<tf.Tensor>(17).fill(x), 1), x);
  },
  stacked() {
    const x = counting([2, 3]);
    const y = counting([2, 3], undefined, 'y');
    return [
      ...grads(tf.stack([x, y], { axis: 1 }), x),
      tf.stack([
        [1, 2],
        [3, 4],
      ]),
      tf.stack([x, y]),
      tf.parallelStack([x, y]),
    ];
  },
  packedNested() {
    const x = counting([]);
    return [
      tf.convertToTensor([
        [x, 1],
        [2, 3],
      ]),
      tf.stack([x, 5], { name: 's' }),
    ];
  },
  unstacked() {
    const x = counting([2, 3]);
    const [a, b, c] = tf.unstack(x, { axis: 1 });
    return grads(a!.mul(b!).add(c!), x);
  },
  splitEven() {
    const x = counting([4, 3]);
    const [a, b] = tf.split(x, 2);
    return grads(a!.mul(b!), x);
  },
  splitSizes() {
    const x = counting([4, 3]);
    const [a, b] = tf.split(x, [1, 2], { axis: 1 });
    return grads(a!.mul(b!), x);
  },
  sliced() {
    const x = counting([4, 3], [null, 3]);
    return grads(tf.slice(x, [1, 0], [2, -1]), x);
  },
  items() {
    const x = counting([4, 3, 2]);
    const n = scalarInput(1, 'n');
    const m = scalarInput(1, 'm', tf.int64);
    return [
      x.slice('0'),
      x.slice('1:, ::2'),
      x.slice('..., -1'),
      x.slice(':, newaxis, 1'),
      x.slice('::-1, 2:0:-1'),
      x.slice(n),
      x.slice([[n], ':']),
      x.slice([m, [1, m.add(1)]]),
      x.slice('...'),
      x.slice(['2:', 0, '...', tf.newaxis]),
    ];
  },
  itemGradients() {
    const x = counting([4, 3], [null, 3]);
    return grads(x.slice('1::2, newaxis, -1'), x);
  },
  stridedSlices() {
    const x = counting([4, 3]);
    return [...grads(tf.stridedSlice(x, [0, 2], [3, 0], [2, -1]), x), tf.stridedSlice(x, [1], [3])];
  },
  padded() {
    const x = counting([2, 3], [null, 3]);
    return [
      ...grads(
        tf.pad(x, [
          [1, 0],
          [2, 1],
        ]),
        x,
      ),
      tf.pad(
        x,
        [
          [1, 0],
          [0, 1],
        ],
        { constantValues: 5 },
      ),
    ];
  },
  mirrored() {
    const x = counting([2, 3]);
    return grads(
      tf.pad(
        x,
        [
          [1, 1],
          [2, 2],
        ],
        { mode: 'REFLECT' },
      ),
      x,
    );
  },
  mirroredSymmetric() {
    const x = counting([2, 3]);
    return grads(
      tf.pad(
        x,
        [
          [1, 2],
          [3, 0],
        ],
        { mode: 'SYMMETRIC' },
      ),
      x,
    );
  },
  tiled() {
    const x = counting([2, 3], [null, 3]);
    return grads(tf.tile(x, [2, 3]), x);
  },
  reversedAxes() {
    const x = counting([2, 3]);
    return grads(tf.reverse(x, [1]), x);
  },
  reversedSequence() {
    const x = counting([2, 3, 2]);
    return grads(tf.reverseSequence(x, [2, 3], { seqAxis: 1 }), x);
  },
  gathered() {
    const x = counting([4, 3], [null, 3]);
    return grads(
      tf.gather(x, [
        [1, 3],
        [1, 0],
      ]),
      x,
    );
  },
  gatheredAxis() {
    const x = counting([2, 3, 2]);
    return grads(tf.gather(x, [2, 2, 0], { axis: 1 }), x);
  },
  gatheredBatch() {
    const x = counting([2, 3]);
    const indices = new tf.NDArray(tf.int64, [2, 2], BigInt64Array.of(2n, 0n, 1n, 1n));
    return grads(tf.gather(x, indices, { axis: 1, batchDims: 1 }), x);
  },
  gatheredTuples() {
    const x = counting([2, 3]);
    return grads(
      tf.gatherNd(x, [
        [0, 1],
        [1, 2],
        [0, 1],
      ]),
      x,
    );
  },
  gatheredRows() {
    const x = counting([2, 3]);
    return grads(tf.gatherNd(x, [[1], [1]]), x);
  },
  gatheredTupleBatches() {
    const x = counting([2, 3]);
    return grads(
      tf.gatherNd(
        x,
        [
          [[2], [0]],
          [[1], [1]],
        ],
        { batchDims: 1 },
      ),
      x,
    );
  },
  batchGathered() {
    const x = counting([2, 3]);
    return grads(
      tf.batchGather(x, [
        [2, 0],
        [1, 1],
      ]),
      x,
    );
  },
  scattered() {
    const x = counting([3]);
    return grads(tf.scatterNd([[4], [1], [4]], x, [6]), x);
  },
  tensorScattered() {
    const t = counting([4], undefined, 't');
    const x = counting([2]);
    const y = tf.tensorScatterUpdate(t, [[3], [0]], x);
    const z = tf.tensorScatterAdd(y, [[1], [1]], x);
    return grads(tf.tensorScatterSub(z, [[2], [0]], x), x);
  },
  tensorScatteredExtremes() {
    const t = counting([4], undefined, 't');
    const x = counting([2]);
    const y = tf.tensorScatterMax(t, [[3], [0]], x);
    return grads(tf.tensorScatterMin(y, [[1], [2]], x), x);
  },
  oneHots: () => [
    tf.oneHot([0, 2], 3),
    tf.oneHot([[0, 2]], 3, { onValue: 5, offValue: 1, axis: 0 }),
    tf.oneHot([1], 2, { onValue: true, offValue: false }),
  ],
  ranges() {
    const n = scalarInput(3, 'n');
    return [
      tf.range(5),
      tf.range(3, 18, 5),
      tf.range(n),
      tf.range(0.5, 2.5, 0.5),
      tf.range(1, n, { dtype: tf.int64 }),
      tf.range(0, 3, { dtype: tf.float32 }),
    ];
  },
  linspaced() {
    const x = counting([2]);
    return grads(tf.linspace(x, 10.5, 4), x);
  },
  linspacedNodes: () => [tf.linspace(counting([2]), 10.5, 4)],
  broadcasted() {
    const x = counting([3, 1], [null, 1]);
    return [...grads(tf.broadcastTo(x, [2, 3, 4]), x), tf.broadcastDynamicShape([2, 1], [3])];
  },
  stitched() {
    const x = counting([2, 2]);
    const y = counting([2], undefined, 'y');
    return grads(tf.dynamicStitch([[2, 0], 1], [x, y]), x);
  },
  partitioned() {
    const x = counting([3, 2]);
    return grads(tf.concat(tf.dynamicPartition(x, [1, 0, 1], 2), 0), x);
  },
  uniques() {
    const a = tf.unique([3, 1, 3]);
    const b = tf.uniqueWithCounts(['b', 'a', 'b']);
    const c = tf.setdiff1d([1, 2, 3], [2]);
    return [a.y, a.idx, b.y, b.idx, b.count, c.out, c.idx];
  },
  diagonals() {
    const x = counting([3]);
    return grads(tf.diagPart(tf.diag(x)), x);
  },
  matrixDiagonals() {
    const x = counting([2, 3]);
    return grads(tf.matrixDiagPart(tf.matrixDiag(x, { k: 1 })), x);
  },
  matrixDiagonalsUnknown() {
    const x = counting([2, 3, 4], [2, null, 4]);
    const y = tf.matrixDiagPart(x, { k: 1 });
    return [y, tf.convertToTensor(tf.gradients(tf.square(y), x)[0]!)];
  },
  matrixDiagonalsSet() {
    const x = counting([2, 3]);
    const d = counting([2], undefined, 'd');
    return [...grads(tf.matrixSetDiag(x, d), x), ...grads(tf.matrixSetDiag(x, d), d)];
  },
  bands() {
    const x = counting([3, 3]);
    return grads(tf.matrixBandPart(x, 1, 0), x);
  },
  eyes() {
    const n = scalarInput(2, 'n');
    return [tf.eye(2), tf.eye(2, { numColumns: 3, batchShape: [2] }), tf.eye(n), tf.eye(n, { numColumns: 3 })];
  },
  rolled() {
    const x = counting([2, 3]);
    return grads(tf.roll(x, [1, -1], [0, 1]), x);
  },
  spaceBatches() {
    const x = counting([1, 4, 3, 1]);
    return grads(
      tf.spaceToBatchNd(
        x,
        [2, 2],
        [
          [0, 0],
          [1, 0],
        ],
      ),
      x,
    );
  },
  batchSpaces() {
    const x = counting([4, 2, 2, 1]);
    return [
      ...grads(
        tf.batchToSpaceNd(
          x,
          [2, 2],
          [
            [0, 0],
            [1, 0],
          ],
        ),
        x,
      ),
      tf.batchToSpace(
        x,
        [
          [0, 0],
          [0, 0],
        ],
        2,
      ),
    ];
  },
  spaceDepths() {
    const x = counting([1, 4, 2, 1]);
    return grads(tf.spaceToDepth(x, 2), x);
  },
  depthSpaces() {
    const x = counting([1, 1, 2, 4]);
    return grads(tf.depthToSpace(x, 2), x);
  },
  masks() {
    const n = fed([1, 3], [2], 'x', tf.int32);
    const x = counting([2, 3], undefined, 'y');
    const m = fed([true, false], [2], 'm', tf.bool);
    return [
      tf.sequenceMask(n),
      tf.sequenceMask(n, { maxlen: 4, dtype: tf.float32 }),
      tf.booleanMask(x, m),
      tf.booleanMask(x, [true, false, true], { axis: 1 }),
    ];
  },
  maskedGradients() {
    const x = counting([2, 3], [null, 3]);
    const m = fed([true, false], [null], 'm', tf.bool);
    return grads(tf.booleanMask(x, m), x);
  },
  grids() {
    const x = counting([2]);
    const floats = (...values: number[]) => new tf.NDArray(tf.float32, [values.length], Float32Array.from(values));
    return [...tf.meshgrid([x, floats(3, 4, 5)]), ...tf.meshgrid([x, floats(3, 4)], { indexing: 'ij' })];
  },
  repeated() {
    const x = counting([2, 3]);
    return [...grads(tf.repeat(x, 2, { axis: 0 }), x), tf.repeat([1, 2, 3], [2, 0, 1])];
  },
  repeatedColumns: () => [tf.repeat(counting([2, 3]), [1, 0, 2], { axis: 1 })],
  tiledStatic() {
    const x = counting([2, 3]);
    return grads(tf.tile(x, [2, 3]), x);
  },
  emptyShapes() {
    const x = counting([1]);
    return [...grads(tf.reshape(x, []), x), tf.fill([], 7)];
  },
  searched: () => [tf.searchsorted([1, 3, 5], [3, 4]), tf.searchsorted([1, 3, 5], [3, 4], { side: 'right' })],
  requiredPaddings() {
    const n = fed([5, 7], [2], 'x', tf.int32);
    const a = tf.requiredSpaceToBatchPaddings([5], [2]);
    const b = tf.requiredSpaceToBatchPaddings(n, [2, 3]);
    return [a.paddings, a.crops, b.paddings, b.crops];
  },
  identities() {
    const x = counting([2]);
    const [a, b] = tf.identityN([x, x.mul(2)]);
    const y = tf.placeholderWithDefault(tf.identity(a!).mul(b!), [null]);
    return [
      ...grads(tf.checkNumerics(tf.ensureShape(y, [2]), 'msg'), x),
      tf.stopGradient(x),
      tf.guaranteeConst(tf.constant(1)),
    ];
  },
  finite() {
    const x = counting([2]);
    return [tf.verifyTensorAllFinite(x, 'bad'), tf.checkNumerics(x, 'bad')];
  },
  inverted: () => [tf.invertPermutation([2, 0, 1]), tf.unravelIndex([2, 5, 7], [3, 3])],
};

/** Programs whose values only are compared, with the reason. */
const evaluates =
  'TensorFlow knows more static shapes here, because it evaluates comparisons and maxima while building';
const valuesOnly: Record<string, string> = {
  linspaced: evaluates,
  repeatedColumns: evaluates,
  conjugated: 'TypeScript has no complex literals, so the constant is put together from its parts',
};

for (const [name, build] of Object.entries(programs))
  it(name, async () => {
    const expected = golden[name]!;
    feeds = [];
    const graph = new tf.Graph();
    const outputs = graph.asDefault(build);
    if (!(name in valuesOnly)) {
      const nodes = graph.operations.map((op) => {
        const groups = op.attrs['_class']?.list?.s.map((s) => new TextDecoder().decode(s));
        const row = [op.name, op.type, op.nodeDef.input];
        return groups ? [...row, groups] : row;
      });
      expect(nodes.map((n) => JSON.stringify(n))).toEqual(expected.nodes.map((n) => JSON.stringify(n)));
    }
    expect(outputs.map((t) => t.shape)).toEqual(expected.shapes);
    const session = new tf.Session({ graph });
    const values = await session.run(outputs, feeds as never); // placeholders and their values
    for (const [i, value] of values.entries()) {
      const { dtype, shape, data } = expected.values[i]!;
      expect([value.dtype.name, value.shape]).toEqual([dtype, shape]);
      const actual = Array.from({ length: value.size }, (_, k) => value.at(k));
      if (value.dtype.isFloating)
        for (const [k, x] of actual.entries()) expect(x).toBeCloseTo(data[k] as number, 4); // floats come as numbers
      else expect(actual).toEqual(data);
    }
  });

it('every golden program is tested', () => {
  expect(Object.keys(programs).sort()).toEqual(Object.keys(golden).sort());
});

it('finds the largest and the smallest of very many known numbers', () => {
  new tf.Graph().asDefault(() => {
    const many = tf.constant(new tf.NDArray(tf.int32, [200_000], new Int32Array(200_000).fill(3)));
    expect(tf.zeros([tf.reduceMax(many), tf.reduceMin(many)]).shape).toEqual([3, 3]);
  });
});

it('dynamicStitch takes very many indices, known while building or not', async () => {
  const graph = new tf.Graph();
  const [known, fed, indices] = graph.asDefault(() => {
    const x = tf.placeholder(tf.int32, [null]);
    const range = tf.range(200_000);
    return [tf.dynamicStitch([range], [range]), tf.dynamicStitch([x], [x]), x];
  });
  const all = Int32Array.from({ length: 200_000 }, (_, i) => i);
  const feeds = [[indices, new tf.NDArray(tf.int32, [200_000], all)]] as const;
  const results = await new tf.Session({ graph }).run([known, fed], feeds);
  for (const { data } of results) expect(data).toEqual(all);
});
