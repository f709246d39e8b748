/** @file SharedHandle: what a resource tensor holds for an object that outlives runs, such as a queue or a table. */
import { InvalidArgumentError, NotFoundError } from './errors.ts';
import type { NDArray } from './ndarray.ts';

/** Names an object of a session's or server's resources. */
export interface SharedHandle {
  readonly container: string;
  readonly name: string;
  /** The object, if it is there. */
  find(): object | undefined;
}

function isSharedHandle(object: object | undefined): object is SharedHandle {
  return object !== undefined && 'find' in object && typeof object.find === 'function';
}

/** The object that a resource tensor stands for, which must be of this class. */
export function sharedObject<T extends object>(handle: NDArray, kind: abstract new (...args: never[]) => T): T {
  const [element] = handle.objects;
  if (!isSharedHandle(element)) throw new InvalidArgumentError(`the handle is not one of a ${kind.name}`);
  const object = element.find();
  if (!object) throw new NotFoundError(`Resource ${element.container}/${element.name}/${kind.name} does not exist.`);
  if (!(object instanceof kind))
    throw new InvalidArgumentError(
      `Trying to access resource ${element.name} of type ${kind.name}, but it is a ${object.constructor.name}.`,
    );
  return object;
}
