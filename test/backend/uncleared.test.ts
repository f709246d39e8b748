/** @file Results do not depend on what their memory held before, which is not cleared for them. */
import * as tf from 'tensorloom';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { nativeLibrary } from '../../src/devices/cpu/library.ts';

const itNative = 'problem' in nativeLibrary() ? it.skip : it;
const [rows, columns] = [48, 40];

beforeEach(() => void tf.resetDefaultGraph());
afterEach(() => void vi.restoreAllMocks());

/** Results of which much is not computed but stays zero, or is added up. */
function results(x: tf.Tensor): tf.Tensor[] {
  const image = tf.reshape(x, [1, rows, columns, 1]);
  const filter = tf.constant([1, 2, 3, 4], { shape: [2, 2, 1, 1], dtype: tf.float32 });
  const pooled = tf.nn.maxPool(image, 3, 5, 'VALID');
  const spread = tf.nn.conv2d(image, filter, { strides: [1, 3, 3, 1], padding: 'VALID' });
  const few = tf.constant([0, 7, 7, rows - 1], { dtype: tf.int32 });
  const gathered = tf.gather(x, few);
  return [
    ...tf.gradients([pooled, spread], [image]),
    tf.convertToTensor(tf.gradients(gathered, [x])[0]!),
    tf.pad(x, [
      [3, 2],
      [1, 5],
    ]),
    tf.concat([x, tf.zeros([rows, 3])], 1),
    tf.scatterNd(tf.expandDims(few, 1), gathered, [rows, columns]),
    tf.unsortedSegmentSum(gathered, few, rows),
    tf.cumsum(x, 0, { exclusive: true }),
    tf.matrixBandPart(x, 1, 2),
    tf.oneHot(tf.range(rows), columns),
    tf.where(tf.greater(x, 0)),
    tf.nn.topK(x, 30).values,
    tf.randomUniform([rows, columns], { seed: 1 }).mul(0),
  ] as tf.Tensor[]; // gradients of what depends on it are there
}

itNative('is the same in memory full of zeros and in memory full of NaN', async () => {
  const x = tf.placeholder(tf.float32, [rows, columns]);
  const fetches = results(x);
  const fed = new tf.NDArray(
    tf.float32,
    [rows, columns],
    Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i)),
  );
  const inMemoryOf = async (byte: number) => {
    const given = vi.spyOn(Buffer, 'allocUnsafeSlow').mockImplementation((bytes) => Buffer.alloc(bytes, byte));
    const sess = new tf.Session();
    const arrays = (await sess.run(fetches, [[x, fed]])) as tf.NDArray[]; // a list is fetched
    sess.close();
    expect(given.mock.calls.length).toBeGreaterThanOrEqual(fetches.length);
    return arrays;
  };
  const [zeros, nans] = [await inMemoryOf(0), await inMemoryOf(0xff)];
  for (const [i, array] of nans.entries()) expect(array.equals(zeros[i]!), fetches[i]!.name).toBe(true);
});
