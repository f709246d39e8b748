/** @file The layers of tf.layers with inputs of many shapes: which they take and what shape they give, as in TensorFlow. */
import { readFileSync } from 'node:fs';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

const { layers } = tf;
type Dims = (number | null)[];
/** For each shape: what a node has, and what `computeOutputShape` says; the node's alone for inputs of unknown rank. */
type Row = ('refused' | [applied: Dims, computed: Dims] | Dims | null)[];
const path = new URL('../../golden/front/layerShapes.json', import.meta.url);
const golden = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Row>; // written by tools/golden/layerShapes.py

const shapes: (Dims | null)[] = [
  ...[null, [4], [null, 6], [2, null], [2, 7, 3], [null, null, 3], [2, 7, null]],
  ...[
    [2, 7, 6, 3],
    [null, 7, null, 3],
    [2, 7, 6, null],
    [2, null, 6, 4],
  ],
  ...[[2, 7, 6, 5, 3], [null, null, 6, 5, 3], [2, 7, 6, 5, null]], // biome-ignore format: shapes
];
const first = { dataFormat: 'channels_first' } as const;
const make: Record<string, () => tf.layers.Layer> = {
  Dense: () => new layers.Dense(4),
  Flatten: () => new layers.Flatten(),
  Dropout: () => new layers.Dropout(0.5),
  Conv1D: () => new layers.Conv1D(4, 3, { strides: 2 }),
  Conv1DDilated: () => new layers.Conv1D(4, 2, { dilationRate: 2 }),
  Conv1DFirst: () => new layers.Conv1D(4, 2, { padding: 'same', ...first }),
  Conv2D: () => new layers.Conv2D(4, [3, 2], { strides: [2, 1] }),
  Conv2DSame: () => new layers.Conv2D(4, 3, { strides: 2, padding: 'same' }),
  Conv2DFirst: () => new layers.Conv2D(4, 2, first),
  Conv3D: () => new layers.Conv3D(4, 2, { strides: [1, 2, 3] }),
  Conv3DFirst: () => new layers.Conv3D(4, 2, { padding: 'same', ...first }),
  Conv2DTranspose: () => new layers.Conv2DTranspose(4, 3, { strides: 2 }),
  Conv2DTransposeSame: () => new layers.Conv2DTranspose(4, 3, { strides: [2, 1], padding: 'same' }),
  Conv3DTranspose: () => new layers.Conv3DTranspose(4, 2, { strides: 2 }),
  SeparableConv1D: () => new layers.SeparableConv1D(4, 3, { depthMultiplier: 2 }),
  SeparableConv2D: () => new layers.SeparableConv2D(4, 3, { strides: 2, padding: 'same' }),
  MaxPooling1D: () => new layers.MaxPooling1D(2, 2),
  AveragePooling1DSame: () => new layers.AveragePooling1D(3, 2, { padding: 'same' }),
  AveragePooling2D: () => new layers.AveragePooling2D([3, 2], [2, 1]),
  MaxPooling2DFirst: () => new layers.MaxPooling2D(2, 2, { padding: 'same', ...first }),
  MaxPooling3D: () => new layers.MaxPooling3D(2, [1, 2, 3]),
  AveragePooling3DFirst: () => new layers.AveragePooling3D(2, 2, first),
};

describe('Layers with inputs of many shapes', () => {
  it('are all compared', () => expect(Object.keys(make).sort()).toEqual(Object.keys(golden).sort()));
  for (const [name, row] of Object.entries(golden))
    it(name, () => {
      for (const [i, shape] of shapes.entries())
        new tf.Graph().asDefault(() => {
          const [wanted, where] = [row[i]!, `inputs [${shape}]`];
          const applied = () => make[name]!().apply(tf.placeholder(tf.float32, shape)).shape;
          if (wanted === 'refused') {
            expect(applied, where).toThrow();
            return;
          }
          const [node, computed] = shape === null ? [wanted, null] : wanted;
          expect(applied(), where).toEqual(node);
          expect(make[name]!().computeOutputShape(shape), where).toEqual(computed);
        });
    });

  it('say what they ask for', () =>
    new tf.Graph().asDefault(() => {
      const x = (...dims: Dims) => tf.placeholder(tf.float32, dims);
      const conv = new layers.Conv2D(4, 3, { name: 'c' });
      expect(() => conv.apply(x(2, 7, 3))).toThrow(/Input 0 of layer c is incompatible.*expected ndim=4, found ndim=3/);
      expect(() => conv.apply(x(2, 7, 7, null))).toThrow(/channel dimension of the inputs should be defined/);
      conv.apply(x(2, 7, 7, 3));
      expect(() => conv.apply(x(2, 7, 7, 4))).toThrow(/expected axis 3 of input shape to have value 3/);
      expect(() => conv.computeOutputShape([2, 7])).toThrow(/Images have 4 axes here/);
      expect(() => new layers.Dense(4).computeOutputShape([2, null])).toThrow(/innermost dimension/);
      const norm = new layers.BatchNormalization();
      expect(norm.computeOutputShape([null, 7, 3])).toEqual([null, 7, 3]);
    }));
});
