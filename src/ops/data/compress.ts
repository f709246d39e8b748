/** @file CompressElement and UncompressElement: an element as one compressed object, and back. */
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { variant } from '../../core/dtypes.ts';
import { FailedPreconditionError, InternalError, InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { compatible, isFullyDefined, showRuntime } from '../../core/shape.ts';
import { arrayFromProto, decodeTensorProto, serializeTensor } from '../../io/serializedTensor.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { elementAttrs, types } from './kit.ts';

const deflated = promisify(deflateRaw);
const inflated = promisify(inflateRaw);

/** Elements are compressed to be sent or kept for a while: speed counts for more than the last percent of size. */
const level = 1;

/** What a variant of a compressed element holds: the components' bytes; those that are no bytes stay as they are. */
class CompressedElement {
  private constructor(
    private readonly bytes: Uint8Array,
    /** For each component the length of its bytes, or the component itself. */
    private readonly parts: readonly (number | NDArray)[],
  ) {}

  static async of(components: readonly NDArray[]): Promise<CompressedElement> {
    const pieces = components.map((array) =>
      array.dtype.isObject && array.dtype.name !== 'string' ? array : serializeTensor(array),
    );
    const bytes = pieces.filter((piece) => piece instanceof Uint8Array);
    const parts = pieces.map((piece) => (piece instanceof Uint8Array ? piece.length : piece));
    return new CompressedElement(await deflated(Buffer.concat(bytes), { level }), parts);
  }

  async components(): Promise<NDArray[]> {
    const bytes = await inflated(this.bytes);
    let at = 0;
    return this.parts.map((part) => {
      if (typeof part !== 'number') return part;
      const proto = decodeTensorProto(bytes.subarray(at, at + part));
      at += part;
      if (!proto) throw new InternalError('a compressed element does not hold what was put into it');
      return arrayFromProto(proto);
    });
  }
}

function elementIn(array: NDArray): CompressedElement {
  const object = array.rank === 0 ? array.objects[0] : undefined;
  if (object instanceof CompressedElement) return object;
  throw new InvalidArgumentError('Input does not contain a compressed element.');
}

export const CompressElement = defineOp({
  name: 'CompressElement',
  inputs: { components: 'input_types' },
  outputs: { compressed: 'variant' },
  attrs: { input_types: types },
  shape: () => ({ compressed: [] }),
  grad: notDifferentiable,
  lower: (p, { components }) => ({
    compressed: p.host(components, [{ dtype: variant, shape: [] }], async (arrays) => [
      new NDArray(variant, [], [await CompressedElement.of(arrays)]),
    ])[0]!,
  }),
  cases: () => [],
});

export const UncompressElement = defineOp({
  name: 'UncompressElement',
  inputs: { compressed: 'variant' },
  outputs: { components: 'output_types' },
  attrs: elementAttrs,
  shape: (_, { output_shapes }) => ({ components: output_shapes }),
  grad: notDifferentiable,
  lower: (p, { compressed }, { output_types, output_shapes }) => ({
    components: p.host(
      [compressed],
      output_types.map((dtype, i) => {
        const shape = output_shapes[i]!;
        return isFullyDefined(shape) ? { dtype, shape } : { dtype };
      }),
      async ([array]) => {
        const components = await elementIn(array!).components();
        if (components.length !== output_types.length)
          throw new FailedPreconditionError(
            `Expected ${output_types.length} outputs from uncompress, but got ${components.length}`,
          );
        for (const [i, { dtype, shape }] of components.entries()) {
          if (dtype !== output_types[i])
            throw new FailedPreconditionError(
              `Expected a tensor of type ${output_types[i]!.runtimeName} but got a tensor of type ${dtype.runtimeName}`,
            );
          if (!compatible(output_shapes[i]!, shape))
            throw new FailedPreconditionError(
              `Expected a tensor of shape ${showRuntime(output_shapes[i]!)} but got a tensor of shape ${showRuntime(shape)}`,
            );
        }
        return components;
      },
    ),
  }),
  cases: () => [],
});
