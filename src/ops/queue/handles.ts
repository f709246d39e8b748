/** @file Handles of things that outlive runs, in their two forms: resources, and the string references of TensorFlow 1.0. */
import { resource, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { type SharedHandle, sharedObject } from '../../core/sharedObject.ts';
import { attr } from '../../op/attrs.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';

/** What the two forms of an op differ in. */
export interface Form {
  readonly suffix: string;
  readonly port: 'resource' | 'Ref(string)';
  readonly handleShape: readonly number[];
  /** As shape cases write it. */
  readonly handleCase: string;
  readonly stateful: boolean;
}
export const byResource: Form = { suffix: 'V2', port: 'resource', handleShape: [], handleCase: '[]', stateful: true };
/** The ops of 1.0 name things by a string reference to container and name, and count as stateless. */
export const byReference: Form = {
  suffix: '',
  port: 'Ref(string)',
  handleShape: [2],
  handleCase: '[2]',
  stateful: false,
};

export const sharedAttrs = {
  container: attr('string', { default: '' }),
  shared_name: attr('string', { default: '' }),
} as const;

/** What the bytes of a name in a string reference stand for. */
const named = new WeakMap<object, SharedHandle>();

/** A handle to what `make` makes: under the shared name if there is one, else for this node only. */
export function handleTo<T extends object>(
  p: ProgramBuilder,
  form: Form,
  { container, shared_name }: { readonly container: string; readonly shared_name: string },
  make: (name: string) => T,
  check: (present: object) => void,
): Value {
  const handle =
    shared_name === '' ? p.unshared(container, make) : p.shared({ container, name: shared_name }, make, check);
  return form.port === 'resource' ? handle : asReference(p, handle.known!); // `p.shared` gives it
}

/** A resource handle as a string reference. */
function asReference(p: ProgramBuilder, handle: NDArray): Value {
  return p.constant(referenceTo(handle));
}

const references = new WeakMap<object, NDArray>();
/** The string reference to what a resource handle names; always the same for the same handle. */
export function referenceTo(handle: NDArray): NDArray {
  const target = handle.objects[0] as SharedHandle; // resources of shared objects hold nothing else
  let found = references.get(target);
  if (!found) {
    const encode = (text: string) => new TextEncoder().encode(text);
    const name = encode(target.name);
    named.set(name, target);
    references.set(target, (found = new NDArray(string, [2], [encode(target.container), name])));
  }
  return found;
}

/** The object that a handle of either form stands for, which must be of this class. */
export function objectAt<T extends object>(handle: NDArray, kind: abstract new (...args: never[]) => T): T {
  if (handle.dtype === resource) return sharedObject(handle, kind);
  const target = handle.size === 2 ? named.get(handle.objects[1]!) : undefined;
  if (!target) throw new InvalidArgumentError('Resource handle must have two elements, the container and the name.');
  return sharedObject(new NDArray(resource, [], [target]), kind);
}
