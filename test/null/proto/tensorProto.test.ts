/** @file TensorProtos against real TensorFlow’s: bytes of constants, values of every form, refusals. */
import { describe, expect, it } from 'vitest';
import { allDtypes, bool, dtypeFromName, float32, int64, resource, string, variant } from '../../../src/core/dtypes.ts';
import { InvalidArgumentError } from '../../../src/core/errors.ts';
import { type Element, fromElements, NDArray } from '../../../src/core/ndarray.ts';
import { makeTensorProto } from '../../../src/op/makeTensorProto.ts';
import type { Init } from '../../../src/proto/message.ts';
import { ResourceHandleProto, TensorProto, VariantTensorDataProto } from '../../../src/proto/tensor.ts';
import {
  constantToProto,
  shapeFromProto,
  shapeToProto,
  tensorFromProto,
  tensorToProto,
} from '../../../src/proto/tensorProto.ts';
import { fromBase64, golden } from './golden.ts';

type Value = number | string | boolean | [number, number];
interface Case {
  readonly dtype: string;
  readonly shape: number[];
  readonly fullShape: number[] | null;
  readonly values: Value[];
  readonly constant: string;
  readonly decoded: Value[];
}

function element(dtype: string, value: Value): Element {
  if (Array.isArray(value)) return { re: value[0], im: value[1] };
  return dtype === 'int64' || dtype === 'uint64' ? BigInt(String(value)) : value;
}
const arrayOf = (dtype: string, shape: readonly number[], values: readonly Value[]) =>
  fromElements(
    dtypeFromName(dtype)!,
    shape,
    values.map((v) => element(dtype, v)),
  );
const shapeOf = (...sizes: number[]) => ({ dim: sizes.map((size) => ({ size })) });
const decode = (init: Init<TensorProto>) => tensorFromProto(TensorProto.create(init));

describe('constants, as make_tensor_proto writes them', () => {
  it.each(
    golden<Case[]>('tensors').map(
      (c) => [`${c.dtype} ${JSON.stringify(c.shape)} ${JSON.stringify(c.fullShape)}`, c] as const,
    ),
  )('%s', (_, { dtype, shape, fullShape, values, constant, decoded }) => {
    const proto = constantToProto(arrayOf(dtype, shape, values), fullShape ?? shape);
    expect(Buffer.from(TensorProto.encode(proto)).toString('base64')).toBe(constant);
    const back = tensorFromProto(TensorProto.decode(fromBase64(constant)));
    expect(back.equals(arrayOf(dtype, fullShape ?? shape, decoded))).toBe(true);
  });
});

describe('the wire flavour', () => {
  it.each(allDtypes.filter((d) => !d.isObject).map((d) => [d.name, d] as const))('keeps %s', (_, dtype) => {
    const array = fromElements(dtype, [2, 2], [0, 1, 1, 0]);
    const proto = tensorToProto(array);
    expect(proto.tensor_content.length).toBe(4 * dtype.size);
    expect(tensorFromProto(TensorProto.decode(TensorProto.encode(proto))).equals(array)).toBe(true);
  });

  it('keeps strings as lengths and bytes', () => {
    const array = fromElements(string, [3], ['a', '', 'x'.repeat(200)]);
    const proto = tensorToProto(array);
    expect(Array.from(proto.tensor_content.subarray(0, 6))).toEqual([1, 0, 200, 1, 97, 120]);
    expect(tensorFromProto(proto).equals(array)).toBe(true);
  });

  it('keeps scalars and empty arrays', () => {
    for (const array of [
      fromElements(float32, [], [2.5]),
      fromElements(int64, [0, 3], []),
      fromElements(string, [0], []),
    ])
      expect(tensorFromProto(tensorToProto(array)).equals(array)).toBe(true);
  });

  it('does not copy', () => {
    const array = fromElements(float32, [2000], new Array(2000).fill(1));
    const proto = tensorToProto(array);
    expect(proto.tensor_content.buffer).toBe(array.data.buffer);
    expect(tensorFromProto(proto).data.buffer).toBe(array.data.buffer);
  });

  it('keeps handles and variants as records', () => {
    const handle = ResourceHandleProto.create({ name: 'v', container: 'c', hash_code: 5n });
    const inner = VariantTensorDataProto.create({ type_name: 'list', tensors: [{ dtype: 1, float_val: [2] }] });
    expect(tensorFromProto(tensorToProto(new NDArray(resource, [1], [handle]))).objects).toEqual([handle]);
    expect(tensorFromProto(tensorToProto(new NDArray(variant, [], [inner]))).objects).toEqual([inner]);
    expect(() => tensorToProto(new NDArray(resource, [], [{}]))).toThrow(InvalidArgumentError);
  });

  it('reads handles from the contents that C++ writes', () => {
    const handle = ResourceHandleProto.create({ name: 'v' });
    const data = ResourceHandleProto.encode(handle);
    const proto = { dtype: 20, tensor_content: new Uint8Array([data.length, ...data]) };
    expect(decode(proto).objects).toEqual([handle]);
  });
});

describe('filling', () => {
  it('repeats the last value, zero when there is none, and ignores what is too much', () => {
    expect(decode({ dtype: 3, tensor_shape: shapeOf(4), int_val: [1, 2] }).toArray()).toEqual([1, 2, 2, 2]);
    expect(decode({ dtype: 3, tensor_shape: shapeOf(2) }).toArray()).toEqual([0, 0]);
    expect(decode({ dtype: 3, tensor_shape: shapeOf(1), int_val: [1, 2] }).toArray()).toEqual([1]);
    expect(decode({ dtype: 7, tensor_shape: shapeOf(2) }).toArray()).toEqual(['', '']);
    expect(decode({ dtype: 9, tensor_shape: shapeOf(3), int64_val: [-1n] }).toArray()).toEqual([-1, -1, -1]);
  });

  it('repeats complex values as pairs', () => {
    const array = decode({ dtype: 8, tensor_shape: shapeOf(2), scomplex_val: [1, -2] });
    expect(array.toArray()).toEqual([
      { re: 1, im: -2 },
      { re: 1, im: -2 },
    ]);
  });

  it('makes booleans 0 or 1', () => {
    const array = decode({ dtype: 10, tensor_shape: shapeOf(3), tensor_content: new Uint8Array([2, 0, 1]) });
    expect(array.equals(fromElements(bool, [3], [true, false, true]))).toBe(true);
  });

  it('takes the base type of a reference', () => {
    expect(decode({ dtype: 101, float_val: [1] }).dtype).toBe(float32);
  });
});

describe('refusals', () => {
  const cases: [string, Init<TensorProto>, RegExp][] = [
    ['a negative size', { dtype: 1, tensor_shape: shapeOf(2, -1) }, /has the size -1/],
    ['an unknown rank', { dtype: 1, tensor_shape: { unknown_rank: true } }, /rank is unknown/],
    ['too many elements', { dtype: 1, tensor_shape: shapeOf(2 ** 20, 2 ** 20) }, /more than 2\^31/],
    ['sizes that overflow beside a zero', { dtype: 1, tensor_shape: shapeOf(0, 2 ** 40, 2 ** 40) }, /more than 2\^31/],
    ['short contents', { dtype: 1, tensor_shape: shapeOf(2), tensor_content: new Uint8Array(7) }, /8 bytes .* has 7/],
    ['contents of a scalar too long', { dtype: 1, tensor_content: new Uint8Array(8) }, /4 bytes .* has 8/],
    [
      'short strings',
      { dtype: 7, tensor_shape: shapeOf(1), tensor_content: new Uint8Array([5, 1]) },
      /announces 6 bytes/,
    ],
    [
      'too few lengths',
      { dtype: 7, tensor_shape: shapeOf(9), tensor_content: new Uint8Array([0]) },
      /at least 9 bytes/,
    ],
    [
      'a length that does not end',
      { dtype: 7, tensor_content: new Uint8Array(9).fill(255) },
      /element 0 of 1 .* damaged/,
    ],
    ['an unknown type', { dtype: 99 }, /element type 99/],
    ['no type', {}, /element type DT_INVALID/],
  ];
  it.each(cases)('%s', (_, proto, why) => {
    expect(() => decode(proto)).toThrow(InvalidArgumentError);
    expect(() => decode(proto)).toThrow(why);
  });

  it('more values than the shape of a constant has room for', () => {
    expect(() => constantToProto(fromElements(float32, [3], [1, 2, 3]), [2])).toThrow(/at most 2 values, but 3/);
  });
});

describe('shapes', () => {
  it('keep unknown sizes and ranks', () => {
    for (const dims of [[2, null, 0], [], null]) expect(shapeFromProto(shapeToProto(dims))).toEqual(dims);
    expect(() => shapeFromProto({ dim: [{ size: -2, name: '' }], unknown_rank: false })).toThrow(InvalidArgumentError);
  });
});

describe('tf.makeTensorProto', () => {
  it('takes plain values, and writes what Python writes', () => {
    const bytes = (...args: Parameters<typeof makeTensorProto>) =>
      Buffer.from(TensorProto.encode(makeTensorProto(...args))).toString('hex');
    expect(bytes([1, 2])).toBe('080312041202080222080100000002000000');
    expect(bytes([1, 2], { shape: [4] })).toBe('08031204120208043a020102');
    expect(bytes(3.5)).toBe('080112002a0400006040');
    expect(bytes(['a'])).toBe('0807120412020801420161');
    expect(bytes([1, 2], { dtype: float32 })).toBe('080112041202080222080000803f00000040');
  });

  it('refuses what does not fit', () => {
    expect(() => makeTensorProto([1, 2, 3], { shape: [2] })).toThrow(/Takes at most 2, but got 3: the shape is \[2\]/);
    expect(() => makeTensorProto([1, 2], { shape: [1, 2], verifyShape: true })).toThrow(
      /Expected Tensor's shape: \[1, 2\], but got \[2\]/,
    );
  });
});
