/** @file Stacks: what a loop of frames keeps for its gradient, last in, first out; they live as long as one run. */
import { type DType, resource, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { showRuntime } from '../../core/shape.ts';
import { anyType, attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import type { RunScope } from '../../program/instructions.ts';

class Stack {
  private readonly items: NDArray[] = [];
  private isClosed = false;
  constructor(
    private readonly name: string,
    private readonly dtype: DType,
    private readonly limit: number,
  ) {}

  push(item: NDArray): void {
    this.throwIfClosed();
    if (item.dtype !== this.dtype)
      throw new InvalidArgumentError(`Must have type ${this.dtype.runtimeName} but got ${item.dtype.runtimeName}`);
    if (this.items.length >= this.limit)
      throw new InvalidArgumentError(`Stack[${this.name}] overflowed its max_size (${this.limit})`);
    this.items.push(item);
  }

  pop(): NDArray {
    this.throwIfClosed();
    const item = this.items.pop();
    if (!item) throw new InvalidArgumentError(`Stack[${this.name}] is empty when calling Pop().`);
    return item;
  }

  close(): void {
    this.items.length = 0;
    this.isClosed = true;
  }

  private throwIfClosed(): void {
    if (this.isClosed) throw new InvalidArgumentError(`Stack[${this.name}] has already been closed.`);
  }
}

const container = '_stacks';
let made = 0;
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: object) => new TextDecoder().decode(bytes as Uint8Array); // elements of string arrays are bytes

/** A new stack: as an object in a resource, or, for the older ops, under a name that lasts as long as the run. */
function makeStack(handle: DType, run: RunScope, wanted: string, dtype: DType, limit: number): NDArray {
  const name = `${wanted}_${made++}`;
  const stack = new Stack(name, dtype, limit);
  if (handle === resource) return new NDArray(resource, [], [stack]);
  run.resources.set(`${container}${name}`, stack);
  return new NDArray(string, [2], [encode(container), encode(name)]);
}

function stackOf(handle: NDArray, run: RunScope): Stack {
  const found =
    handle.dtype === resource
      ? handle.objects[0]
      : run.resources.get(`${decode(handle.objects[0]!)}${decode(handle.objects[1]!)}`);
  if (!(found instanceof Stack)) throw new InvalidArgumentError('the handle does not belong to a stack of this run');
  return found;
}

/** The ops of 1.0 name a stack by a string reference and know no limit. */
const forms = [
  { suffix: 'V2', dtype: resource, port: 'resource', stateful: true },
  { suffix: '', dtype: string, port: 'Ref(string)', stateful: false },
] as const;

const common = { elem_type: anyType, stack_name: attr('string', { default: '' }) };

export const StackV2 = defineOp({
  name: 'StackV2',
  inputs: { max_size: 'int32' },
  outputs: { handle: 'resource' },
  attrs: common,
  stateful: true,
  shape: () => ({ handle: [2] }),
  grad: notDifferentiable,
  lower: (p, { max_size }, { elem_type, stack_name }, node) => {
    if (max_size.shape.length > 0)
      throw new InvalidArgumentError(`Stack size must be a scalar, but had shape: ${showRuntime(max_size.shape)}`);
    const [handle] = p.host([max_size], [{ dtype: resource, shape: [] }], ([size], run) => {
      const limit = size!.numberAt(0);
      return [makeStack(resource, run, stack_name || node.name, elem_type, limit < 0 ? 2 ** 31 - 1 : limit)];
    });
    return { handle: handle! };
  },
  cases: () => [{ shape: '[] -> [2]', attrs: { elem_type: 'float32' } }],
});

export const Stack1 = defineOp({
  name: 'Stack',
  inputs: {},
  outputs: { handle: 'Ref(string)' },
  attrs: common,
  stateful: true,
  shape: () => ({ handle: [2] }),
  grad: notDifferentiable,
  lower: (p, _, { elem_type, stack_name }, node) => {
    const [handle] = p.host([], [{ dtype: string, shape: [2] }], (_inputs, run) => [
      makeStack(string, run, stack_name || node.name, elem_type, 2 ** 31 - 1),
    ]);
    return { handle: handle! };
  },
  cases: () => [{ shape: '-> [2]', attrs: { elem_type: 'float32' } }],
});

for (const { suffix, port, stateful } of forms) {
  defineOp({
    name: `StackPush${suffix}`,
    inputs: { handle: port, elem: 'T' },
    outputs: { output: 'T' },
    attrs: { T: anyType, swap_memory: attr('bool', { default: false }) },
    stateful,
    shape: ({ elem }) => ({ output: elem }),
    grad: notDifferentiable,
    lower: (p, { handle, elem }) => {
      p.host([handle, elem], [], ([at, item], run) => {
        stackOf(at!, run).push(item!);
        return [];
      });
      return { output: elem };
    },
    cases: () => [{ shape: '[2], [2, ?] -> [2, ?]' }],
  });

  defineOp({
    name: `StackPop${suffix}`,
    inputs: { handle: port },
    outputs: { elem: 'elem_type' },
    attrs: { elem_type: anyType },
    stateful,
    shape: () => ({ elem: null }),
    grad: notDifferentiable,
    lower: (p, { handle }, { elem_type }) => ({
      elem: p.host([handle], [{ dtype: elem_type }], ([at], run) => [stackOf(at!, run).pop()])[0]!,
    }),
    cases: () => [{ shape: '[2] -> ?', attrs: { elem_type: 'float32' } }],
  });

  defineOp({
    name: `StackClose${suffix}`,
    inputs: { handle: port },
    outputs: {},
    attrs: {},
    stateful,
    shape: ({ handle }) => {
      if (handle !== null && (handle.length !== 1 || (handle[0] ?? 2) !== 2))
        throw new InvalidArgumentError(`the handle of a stack has shape [2], not ${showRuntime(handle)}`);
      return {};
    },
    grad: notDifferentiable,
    lower: (p, { handle }) => {
      p.host([handle], [], ([at], run) => {
        stackOf(at!, run).close();
        return [];
      });
      return {};
    },
    cases: () => [{ shape: '[2] ->' }, { shape: '[3]', rejects: /shape \[2\]/ }],
  });
}
