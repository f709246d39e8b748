/** @file Tensors on the wire: resource handles travel by name, everything else as it is. */
import { dtypeFromNumber, resource } from '../core/dtypes.ts';
import { InvalidArgumentError } from '../core/errors.ts';
import { NDArray } from '../core/ndarray.ts';
import { ResourceHandleProto, type TensorProto } from '../proto/tensor.ts';
import { shapeFromProto, shapeToProto, tensorFromProto, tensorToProto } from '../proto/tensorProto.ts';
import { ResourceHandle, type ResourceManager } from '../runtime/resources.ts';

/** A fetched value for a client; `device` is where its resources live. */
export function toWire(array: NDArray, device: string): TensorProto {
  if (array.dtype !== resource) return tensorToProto(array);
  const handles = array.objects.map((object) => {
    if (!(object instanceof ResourceHandle))
      throw new InvalidArgumentError('only handles of variables can be fetched from a server');
    const { container, name, dtype, shape } = object;
    return ResourceHandleProto.create({
      device,
      container,
      name,
      dtypes_and_shapes: dtype ? [{ dtype: dtype.number, shape: shapeToProto(shape) }] : [],
    });
  });
  return tensorToProto(new NDArray(resource, array.shape, handles));
}

/** A value that a client feeds; handles mean what has their name in `resources`. */
export function fromWire(proto: TensorProto, resources: ResourceManager): NDArray {
  const array = tensorFromProto(proto);
  if (array.dtype !== resource) return array;
  const handles = (array.objects as readonly ResourceHandleProto[]).map(({ container, name, dtypes_and_shapes }) => {
    // tensorFromProto makes these records for resources
    const [kind] = dtypes_and_shapes;
    const dtype = kind && dtypeFromNumber(kind.dtype);
    if (!dtype) throw new InvalidArgumentError(`the fed handle '${name}' does not say what it holds`);
    return resources.handle(container, name, dtype, shapeFromProto(kind.shape));
  });
  return new NDArray(resource, array.shape, handles);
}
