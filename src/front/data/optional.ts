/** @file Optional: an element that may not be there. */
import { nameScope } from '../../graph/scopes.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { OptionalFromValue, OptionalGetValue, OptionalHasValue, OptionalNone } from '../../ops/flow/optional.ts';
import type { Iterator } from './iterator.ts';
import { type ElementOf, type ElementSpec, elementAttrs, fromTensors, toElement } from './spec.ts';

/** An element or nothing, in a variant tensor. */
export class Optional<E = unknown> {
  constructor(
    readonly variant: Tensor,
    readonly valueSpec: ElementSpec,
  ) {}

  /** An optional with a value. Adds `OptionalFromValue`. */
  static fromValue<const T>(value: T): Optional<ElementOf<T>> {
    return nameScope('optional', (scope) => {
      const { tensors, spec } = nameScope('value', () => toElement(value, (i) => `component_${i}`));
      const { optional } = OptionalFromValue.build({ components: tensors }, { name: scope });
      return new Optional<ElementOf<T>>(optional, spec);
    });
  }

  /** An optional without one, of elements like those of a spec. Adds `OptionalNone`. */
  static empty<E = unknown>(spec: ElementSpec): Optional<E> {
    return new Optional<E>(OptionalNone.build({}).optional, spec);
  }

  /** Whether there is a value. Adds `OptionalHasValue`. */
  hasValue(options: { readonly name?: string } = {}): Tensor {
    return OptionalHasValue.build({ optional: this.variant }, options).has_value;
  }

  /** The value; running it without one is an error. Adds `OptionalGetValue`. */
  getValue(options: { readonly name?: string } = {}): E {
    return nameScope(options.name ?? 'OptionalGetValue', (scope) => {
      const attrs = elementAttrs(this.valueSpec);
      const { components } = OptionalGetValue.build({ optional: this.variant }, { name: scope, attrs });
      return fromTensors(this.valueSpec, components) as E; // what the spec describes
    });
  }
}

/** The next element of an iterator, or nothing at the end. Adds `IteratorGetNextAsOptional`. */
export function getNextAsOptional<E>(iterator: Iterator<E>): Optional<E> {
  return iterator.getNextAsOptional();
}
