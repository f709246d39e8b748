/** @file Resources that have no name: handles that hold their object, and the ops that make and delete them. */
import { resource, string, variant } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import type { Dims } from '../../core/shape.ts';
import { sharedObject } from '../../core/sharedObject.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { ProgramBuilder } from '../../program/builder.ts';
import type { Value } from '../../program/value.ts';

/** What a resource tensor holds for an object that nothing else refers to; it goes with the last handle. */
class OwningHandle {
  readonly container = '';
  constructor(
    readonly name: string,
    private readonly object: object,
  ) {}
  find(): object {
    return this.object;
  }
}

/** A resource tensor that holds an object. */
export function handleTo(name: string, object: object): NDArray {
  return new NDArray(resource, [], [new OwningHandle(name, object)]);
}

/** The object in a resource tensor, or another where the handle is a dummy. */
export function objectBehind<T extends object>(
  array: NDArray,
  type: abstract new (...args: never[]) => T,
  otherwise: () => T,
): T {
  return array.objects[0] instanceof OwningHandle ? sharedObject(array, type) : otherwise();
}

/** Objects by the text that stands for them, as long as they are there. */
export class ObjectsByText<T extends object> {
  private readonly objects = new Map<string, WeakRef<T>>();
  private readonly texts = new WeakMap<T, string>();
  private readonly gone = new FinalizationRegistry<string>((text) => this.objects.delete(text));
  constructor(private readonly kind: string) {}

  textFor(object: T): NDArray {
    let text = this.texts.get(object);
    if (text === undefined) {
      text = `${this.kind}:${process.pid}:${this.objects.size}:${Math.random().toString(36).slice(2)}`;
      this.texts.set(object, text);
      this.objects.set(text, new WeakRef(object));
      this.gone.register(object, text);
    }
    return new NDArray(string, [], [new TextEncoder().encode(text)]);
  }

  find(array: NDArray): T {
    if (array.rank !== 0) throw new InvalidArgumentError('string_handle must be a scalar');
    const text = String(array.at(0));
    const found = this.objects.get(text)?.deref();
    if (found) return found;
    throw new InvalidArgumentError(
      `Could not parse string_handle as a valid ResourceHandle: there is no ${this.kind} '${text}' in this process.`,
    );
  }
}

export const resourceHandle = { handle: 'resource' } as const;
export const scalarResource = (): { handle: Dims } => ({ handle: [] });
export const handleAndDeleter = { handle: 'resource', deleter: 'variant' } as const;
export const scalarPair = (): { handle: Dims; deleter: Dims } => ({ handle: [], deleter: [] });

/** A handle made when its inputs are there, and what TensorFlow deletes it by. */
export function withDeleter(
  p: ProgramBuilder,
  inputs: readonly Value[],
  make: (arrays: readonly NDArray[]) => NDArray,
): { handle: Value; deleter: Value } {
  const results = [resource, variant].map((dtype) => ({ dtype, shape: [] }));
  const [handle, deleter] = p.host(inputs, results, (arrays) => [make(arrays), new NDArray(variant, [], [{}])]);
  return { handle: handle!, deleter: deleter! };
}

/** An op that deletes what a handle holds. What nobody refers to any more is gone by itself, unless it must be closed. */
export const deleteOp = (name: string, close?: (handle: NDArray) => Promise<void>) =>
  defineOp({
    name,
    inputs: handleAndDeleter,
    outputs: {},
    attrs: {},
    stateful: 'repeatable',
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, { handle, deleter }) {
      if (close)
        p.host([handle, deleter], [], async ([array]) => {
          await close(array!);
          return [];
        });
      return {};
    },
    cases: () => [],
  });
