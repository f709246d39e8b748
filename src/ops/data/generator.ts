/** @file GeneratorDataset: elements that functions make until they are out of range. */
import { OutOfRangeError, UnimplementedError } from '../../core/errors.ts';
import { attr } from '../../op/attrs.ts';

import { Dataset, type Element, type ElementIterator, type Iteration, unknown } from './dataset.ts';
import { argumentTypes, datasetOp, elementAttrs, type GraphFunction, inScope, metadata } from './kit.ts';
import type { Saved } from './saved.ts';

interface Functions {
  readonly init: GraphFunction;
  readonly next: GraphFunction;
  readonly finalize: GraphFunction;
}

class GeneratorIterator implements ElementIterator {
  private state: Element | undefined;
  private isOver = false;
  private forget = () => {};
  constructor(
    private readonly scope: Iteration,
    private readonly functions: Functions,
  ) {}

  async next(): Promise<Element | undefined> {
    if (this.isOver) return undefined;
    if (!this.state) {
      const state = await this.functions.init([]);
      this.state = state;
      this.forget = this.scope.onStop(() => this.functions.finalize(state));
    }
    try {
      return await this.functions.next(this.state);
    } catch (error) {
      if (!(error instanceof OutOfRangeError)) throw error;
      this.isOver = true;
      this.forget();
      await this.functions.finalize(this.state);
      return undefined;
    }
  }

  save(): Saved {
    throw new UnimplementedError('GeneratorDataset does not support checkpointing.');
  }
  restore(): void {
    throw new UnimplementedError('GeneratorDataset does not support checkpointing.');
  }
}

export const GeneratorDataset = datasetOp({
  name: 'GeneratorDataset',
  inputs: {
    init_func_other_args: 'Tinit_func_args',
    next_func_other_args: 'Tnext_func_args',
    finalize_func_other_args: 'Tfinalize_func_args',
  },
  attrs: {
    init_func: attr('func'),
    next_func: attr('func'),
    finalize_func: attr('func'),
    Tinit_func_args: argumentTypes,
    Tnext_func_args: argumentTypes,
    Tfinalize_func_args: argumentTypes,
    ...elementAttrs,
    metadata,
  },
  stateful: 'repeatable',
  make(arrays, attrs, { init_func: init, next_func: next, finalize_func: finalize }) {
    const functions = {
      init: init(arrays.init_func_other_args),
      next: next(arrays.next_func_other_args),
      finalize: finalize(arrays.finalize_func_other_args),
    };
    return new Dataset({
      kind: 'Generator',
      types: attrs.output_types,
      shapes: attrs.output_shapes,
      sharesMemory: false,
      cardinality: () => unknown,
      iterate: (scope) => new GeneratorIterator(scope, inScope(functions, scope)),
    });
  },
});
