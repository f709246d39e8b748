import * as tf from 'tensorloom';
import { expect, it } from 'vitest';

it('merges, concatenates and compares static shapes', () => {
  const shape = new tf.TensorShape([null, 3]);
  expect(shape.mergeWith([2, null]).asList()).toEqual([2, 3]);
  expect(shape.mergeWith(null).asList()).toEqual([null, 3]);
  expect(() => shape.mergeWith([2, 4])).toThrow('Shapes [?, 3] and [2, 4] are not compatible');
  expect(() => shape.mergeWith([3])).toThrow(/not compatible/);
  expect(shape.isCompatibleWith([7, 3])).toBe(true);
  expect(shape.isCompatibleWith([3])).toBe(false);
  expect(shape.concatenate([4]).asList()).toEqual([null, 3, 4]);
  expect([shape.numElements(), new tf.TensorShape([2, 3]).numElements(), new tf.TensorShape([]).numElements()]).toEqual(
    [null, 6, 1],
  );
  expect(String(new tf.TensorShape([5]))).toBe('(5,)');
  expect(() => new tf.TensorShape(null).asList()).toThrow(/unknown TensorShape/);
});
