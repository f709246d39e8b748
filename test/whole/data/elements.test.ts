/** @file Compressed elements, functions of rows, and datasets that several devices share: what TensorFlow gives too. */
import { beforeEach, describe, expect, it } from 'vitest';
import * as tf from '../../../src/api/index.ts';
import { traceFunction } from '../../../src/front/data/functions.ts';
import { TensorComponent } from '../../../src/front/data/spec.ts';
import { CompressElement, UncompressElement } from '../../../src/ops/data/compress.ts';
import { MapDefun } from '../../../src/ops/data/mapDefun.ts';
import {
  MultiDeviceIterator,
  MultiDeviceIteratorFromStringHandle,
  MultiDeviceIteratorGetNextFromShard,
  MultiDeviceIteratorInit,
  MultiDeviceIteratorToStringHandle,
} from '../../../src/ops/data/multiDevice.ts';

beforeEach(() => tf.resetDefaultGraph());

type Shapes = readonly (readonly (number | null)[] | null)[];

describe('compressed elements', () => {
  const through = (values: readonly tf.TensorLike[], output_types: readonly tf.DType[], output_shapes: Shapes) => {
    const { compressed } = CompressElement.build({ components: values }, {});
    return UncompressElement.build({ compressed }, { attrs: { output_types, output_shapes } }).components;
  };

  it('come back as they were', async () => {
    using session = new tf.Session();
    const values = [tf.constant([[1, 2.5]]), tf.constant(['dog', 'アヒル']), tf.constant(7, { dtype: tf.int64 })];
    const back = await session.run([...through(values, [tf.float32, tf.string, tf.int64], [[1, 2], [null], []])]);
    expect(back.map((x) => x.toArray())).toEqual([[[1, 2.5]], ['dog', 'アヒル'], 7]);
    expect(back.map(({ dtype }) => dtype)).toEqual([tf.float32, tf.string, tf.int64]);
  });

  it('must be what was put in', async () => {
    using session = new tf.Session();
    const one = [tf.constant([1.5, 2])];
    await expect(session.run([...through(one, [tf.float32, tf.int32], [[2], []])])).rejects.toThrow(
      'Expected 2 outputs from uncompress, but got 1',
    );
    await expect(session.run([...through(one, [tf.int32], [[2]])])).rejects.toThrow(
      'Expected a tensor of type int32 but got a tensor of type float',
    );
    await expect(session.run([...through(one, [tf.float32], [[3]])])).rejects.toThrow('Expected a tensor of shape [3]');
    const { components } = UncompressElement.build(
      { compressed: tf.data.Dataset.range(3).variant },
      { attrs: { output_types: [tf.float32], output_shapes: [[]] } },
    );
    await expect(session.run(components[0]!)).rejects.toThrow('does not contain a compressed element');
  });
});

describe('functions of rows', () => {
  const mapped = (
    fn: (x: tf.Tensor) => tf.Tensor,
    x: tf.TensorLike,
    shape: Shapes[number],
    options: { rank?: number; parallelism?: number } = {},
  ) => {
    const arg = new TensorComponent(tf.float32, options.rank === undefined ? null : Array(options.rank).fill(null));
    const { f, captured } = traceFunction(fn, { transformation: 'map_defun', args: [arg] });
    return MapDefun.build(
      { arguments: [x], captured_inputs: captured },
      {
        attrs: {
          f,
          Targuments: [tf.float32],
          Tcaptured: captured.map(({ dtype }) => dtype),
          output_types: [tf.float32],
          output_shapes: [shape],
          max_intra_op_parallelism: options.parallelism ?? 1,
        },
      },
    ).output[0]!;
  };

  it('take one row each, and what they capture', async () => {
    using session = new tf.Session();
    const factor = tf.constant(10, { dtype: tf.float32 });
    const x = tf.reshape(tf.range(1, 7, 1, { dtype: tf.float32 }), [3, 2]);
    for (const parallelism of [0, 1, 2]) {
      const y = mapped((row) => tf.mul(tf.reduceSum(row), factor), x, [], { parallelism });
      expect(y.shape).toEqual([3]);
      expect((await session.run(y)).toArray()).toEqual([30, 70, 110]);
    }
  });

  it('may leave their shapes open', async () => {
    using session = new tf.Session();
    const x = tf.placeholder(tf.float32);
    const y = mapped((row) => tf.add(row, 1), x, null);
    expect((await session.run(y, new Map([[x, [[1], [2]]]]))).toArray()).toEqual([[2], [3]]);
    expect((await session.run(y, new Map([[x, [[[1, 2]]]]]))).toArray()).toEqual([[[2, 3]]]);
    await expect(session.run(y, new Map([[x, 1]]))).rejects.toThrow('All inputs must have rank at least 1');
  });

  it('give what was promised, or fail', async () => {
    using session = new tf.Session();
    const wrong = mapped((row) => tf.add(row, 1), tf.ones([1, 2]), [3]);
    await expect(session.run(wrong)).rejects.toThrow(
      'Mismatch in function retval shape, [2], and expected output shape, [3].',
    );
    const failing = mapped((row) => tf.gather([1.5, 2], tf.cast(row, tf.int32)), tf.constant([0.5, 1, 7]), []);
    await expect(session.run(failing)).rejects.toThrow('indices = 7 is not in [0, 2)');
    const none = mapped((row) => tf.add(row, 1), tf.zeros([0, 2]), [2]);
    expect((await session.run(none)).shape).toEqual([0, 2]);
    expect(() => mapped((row) => row, tf.constant(1.5), [])).toThrow('rank at least 1');
  });
});

describe('a dataset that devices share', () => {
  const attrs = { output_types: [tf.int64], output_shapes: [[]] };
  function shared(count: number, room: number) {
    const devices = ['/cpu:0', '/cpu:1'];
    const { handle } = MultiDeviceIterator.build({}, { attrs: { ...attrs, devices, shared_name: '', container: '' } });
    const dataset = tf.data.Dataset.range(count).variant;
    const { incarnation_id } = MultiDeviceIteratorInit.build({
      dataset,
      multi_device_iterator: handle,
      max_buffer_size: room,
    });
    const incarnation = tf.placeholder(tf.int64, []);
    const next = (shard: number) =>
      MultiDeviceIteratorGetNextFromShard.build(
        { multi_device_iterator: handle, shard_num: shard, incarnation_id: incarnation },
        { attrs },
      ).components[0]!;
    return { handle, incarnation_id, incarnation, next };
  }

  it('gives them elements in turn, whoever asks first', async () => {
    const { incarnation_id, incarnation, next } = shared(5, 1);
    const [zero, one] = [next(0), next(1)];
    using session = new tf.Session();
    await expect(session.run(zero, new Map([[incarnation, 1]]))).rejects.toThrow('has not been initialized');
    const given = new Map([[incarnation, await session.run(incarnation_id)]]);
    const value = async (x: tf.Tensor) => (await session.run(x, given)).item();
    expect([await value(one), await value(zero), await value(zero), await value(one)]).toEqual([1, 0, 2, 3]);
    expect(await value(zero)).toBe(4);
    await expect(value(one)).rejects.toThrow('End of sequence');
    await expect(value(zero)).rejects.toThrow('End of sequence');
    // One run that wants several waits until all of them are there.
    const again = new Map([[incarnation, await session.run(incarnation_id)]]);
    const both = await session.run([next(0), one, zero], again);
    expect(both.map((x) => Number(x.item())).sort()).toEqual([0, 1, 2]);
    await expect(value(one)).rejects.toThrow('Invalid incarnation id');
    for (const device of [-1, 2])
      await expect(session.run(next(device), again)).rejects.toThrow(`shard_num is ${device}, but there are 2 devices`);
  });

  it('lets a run that waits for its turn stop', async () => {
    const { incarnation_id, incarnation, next } = shared(9, 1);
    const zero = next(0);
    using session = new tf.Session();
    const given = new Map([[incarnation, await session.run(incarnation_id)]]);
    expect((await session.run(zero, given)).item()).toBe(0);
    expect((await session.run(zero, given)).item()).toBe(2);
    // The other device has its store full, so there is nothing more for this one.
    const late = session.run(zero, given, { options: { timeoutInMs: 20 } });
    await expect(late).rejects.toBeInstanceOf(tf.errors.DeadlineExceededError);
    expect((await session.run(next(1), given)).item()).toBe(1);
  });

  it('is found by its text', async () => {
    const { handle, incarnation_id } = shared(3, 1);
    const { string_handle } = MultiDeviceIteratorToStringHandle.build({ multi_device_iterator: handle });
    const text = tf.placeholder(tf.string, []);
    const found = MultiDeviceIteratorFromStringHandle.build({ string_handle: text }, { attrs });
    const next = MultiDeviceIteratorGetNextFromShard.build(
      { ...found, shard_num: 1, incarnation_id: tf.constant(1, { dtype: tf.int64 }) },
      { attrs },
    ).components[0]!;
    using session = new tf.Session();
    await session.run(incarnation_id);
    expect((await session.run(next, new Map([[text, await session.run(string_handle)]]))).item()).toBe(1);
    await expect(session.run(next, new Map([[text, 'nothing']]))).rejects.toThrow("no multi-device iterator 'nothing'");
  });
});
