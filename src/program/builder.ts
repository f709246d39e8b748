/** @file ProgramBuilder: what an op's `lower` writes to: instructions for devices, host calls, functions and variables. */
import { bool, type DType, int64, resource, variant } from '../core/dtypes.ts';
import type { OpError } from '../core/errors.ts';
import { NDArray, scalar } from '../core/ndarray.ts';
import { type Shape, sizeOf } from '../core/shape.ts';
import type { TensorList } from '../core/tensorList.ts';
import { InstructionBuilder } from './instructionBuilder.ts';
import {
  Buffer,
  type HostCall,
  type HostInstruction,
  type HostOptions,
  type Origin,
  type RandomInstruction,
  type View,
} from './instructions.ts';
import {
  CallNeeded,
  type FunctionRef,
  type HostFunction,
  type HostResult,
  HostResultNeeded,
  type SharedName,
  ValueNeeded,
} from './tracing.ts';
import { dense, isContiguous, type Value, type VariableState } from './value.ts';

export class ProgramBuilder extends InstructionBuilder {
  /** Host results handed back by the tracer, for the node being lowered, in call order. */
  hostResults: (readonly Value[])[] = [];
  /** Results of functions called by the node being lowered, in call order. */
  callResults: (readonly Value[])[] = [];
  /** Names the call that the node is lowered in: the same node in two calls has two states. */
  callPath = '';
  private hostCalls = 0;
  private calls = 0;
  /** The content of each variable touched, at this point of the program. */
  private readonly contents = new Map<VariableState, Value>();
  private readonly versions = new Map<Buffer, Shape>();

  /** Begins the lowering of a node. */
  begin(node: string): void {
    this.node = node;
    this.hostCalls = 0;
    this.calls = 0;
  }

  /** The content of a value that the op declared in `hostInputs`; runs what comes before it if need be. */
  demand(value: Value): NDArray {
    if (value.known) return value.known;
    throw new ValueNeeded(value);
  }

  /** `demand` of an integer vector or scalar, as numbers. */
  demandInts(value: Value): number[] {
    return this.demand(value).numbers();
  }

  /** Philox numbers from the generator that belongs to this node. */
  random(
    distribution: RandomInstruction['distribution'],
    dtype: DType,
    shape: Shape,
    options: { state: Value | (() => Uint8Array); reserve: number; low?: Value; high?: Value },
  ): Value {
    const state = this.generatorState(options.state);
    const output = this.temp(dtype, shape);
    const bounds =
      options.low && options.high ? { low: this.contiguous(options.low), high: this.contiguous(options.high) } : {};
    this.emit({ kind: 'random', distribution, state, reserve: options.reserve, output, ...bounds });
    return output;
  }

  /** A generator's state: that of this node, which goes on from run to run, or a copy of one that was computed. */
  private generatorState(state: Value | (() => Uint8Array)): View {
    if (typeof state !== 'function') return this.copy(state);
    const buffer = this.state.nodeState(this.callPath + this.node, state);
    return { buffer, dtype: int64, shape: [3], strides: [1], offset: 0 };
  }

  // Host calls, and lists.
  /** The value as the whole, row-major content of a buffer, copied where it is not. */
  whole(value: Value): Value {
    if (value.list) return this.pack(value.list);
    const bytes = sizeOf(value.shape) * value.dtype.size;
    return isContiguous(value) && value.offset === 0 && value.buffer.bytes === bytes ? value : this.copy(value);
  }

  /**
   * Calls a function on host values. Results of known shape are given as `HostResult`s with a shape; when any shape is
   * left out, lowering of this node is resumed after the call has run, so put the call first in `lower`.
   */
  host(
    inputs: readonly Value[],
    results: readonly HostResult[],
    call: HostCall,
    options?: HostOptions,
  ): readonly Value[] {
    const isKnown = results.every((r) => r.shape !== undefined);
    const resumed = isKnown ? undefined : this.hostResults[this.hostCalls++];
    if (resumed) return resumed;
    const instruction: HostInstruction & Origin = {
      kind: 'host',
      inputs: inputs.map((v) => this.whole(v)),
      call,
      options,
      node: this.node,
    };
    if (!isKnown) throw new HostResultNeeded(instruction, results);
    const outputs = results.map((r) => this.temp(r.dtype, r.shape!));
    this.emit({ ...instruction, outputs });
    return outputs;
  }

  /** A tensor list whose elements are known while tracing. */
  list(list: TensorList<Value>): Value {
    return { ...dense(noMemory, variant, []), list };
  }

  /** The list as an object, for whoever cannot look at it while tracing. */
  private pack(list: TensorList<Value>): Value {
    const present = list.elements.filter((v) => v !== undefined);
    return this.host(present, [{ dtype: variant, shape: [] }], (arrays) => {
      let next = 0;
      const packed = list.map(() => arrays[next++]!);
      return [new NDArray(variant, [], [packed])];
    })[0]!;
  }

  // Functions. A node that calls any must emit nothing else: it is lowered again with each result.
  /** A function's results, its body lowered in place. */
  call(body: FunctionRef, inputs: readonly Value[]): readonly Value[] {
    return this.callResults[this.calls++] ?? this.need({ body }, inputs);
  }

  /** What `body` makes of the inputs when it is applied as long as `cond` gives true. */
  loop(cond: FunctionRef, body: FunctionRef, inputs: readonly Value[]): readonly Value[] {
    return this.callResults[this.calls++] ?? this.need({ cond, body }, inputs);
  }

  private need(functions: CallNeeded['functions'], inputs: readonly Value[]): never {
    throw new CallNeeded(functions, inputs);
  }

  /** A function that host calls of this node may use, now or after the run. Its state is this node's. */
  hostFunction(func: FunctionRef): HostFunction {
    return this.state.hostFunction(func, `${this.callPath}${this.node}/`);
  }

  // Things that outlive runs.
  /**
   * A handle to an object that outlives runs, such as a queue, known while tracing. `make` makes the object when it is first
   * needed, and again if it was destroyed; `check` throws where the present one is not what this node asks for.
   */
  shared<T extends object>(
    name: Omit<SharedName, 'owner'>,
    make: (name: string) => T,
    check: (present: object) => void = () => {},
  ): Value {
    return this.handleOf(name, make, check);
  }

  /** As `shared`, for an object that no other node and no other session can name; its name is made from the node's. */
  unshared<T extends object>(container: string, make: (name: string) => T): Value {
    return this.handleOf({ container, name: this.node, owner: this.callPath + this.node }, make, () => {});
  }

  private handleOf(name: SharedName, make: (name: string) => object, check: (present: object) => void): Value {
    const handle = this.state.sharedHandle(name, make);
    check(handle.find()!); // there is one: it was made if there was not
    return this.constant(new NDArray(resource, [], [handle]));
  }

  // Variables.
  /** The variable a resource handle stands for; the handle is a value known while tracing. */
  variable(handle: Value): VariableState {
    return this.state.variable(this.demand(handle).objects[0]!);
  }

  /** The output of a reference variable: a name for its content, read when a consumer wants a value. */
  reference(variable: VariableState): Value {
    return { ...dense(noMemory, variable.dtype, variable.shape ?? [0]), variable };
  }

  /** Whether the variable is known to have a value at this point of the program. */
  isInitialized(variable: VariableState): boolean {
    return this.contents.has(variable) || variable.shape !== undefined;
  }

  /** Whether the variable has a value when a run comes to this point, as a bool scalar. */
  initialized(variable: VariableState): Value {
    if (this.contents.has(variable)) return this.constant(scalar(bool, true));
    return this.host([], [{ dtype: bool, shape: [] }], () => [scalar(bool, variable.shape !== undefined)])[0]!;
  }

  /** Destroys what a handle stands for; `absent` gives the error, if any, when there is nothing. */
  destroy(handle: Value, absent: () => OpError | undefined): void {
    const object = this.demand(handle).objects[0]!;
    for (const variable of this.contents.keys())
      if (this.state.isVariable(object, variable)) this.contents.delete(variable);
    this.host([], [], () => {
      const error = this.state.destroy(object) ? undefined : absent();
      if (error) throw error;
      return [];
    });
  }

  /** The variable's content, without a copy; a later write in the same program does not change what was read. */
  read(variable: VariableState, missing: () => OpError): Value {
    const before = this.contents.get(variable);
    if (before) return before;
    if (!variable.shape) throw missing();
    this.state.reliesOn(variable, variable.shape);
    if (!variable.dtype.isObject) return this.newVersion(variable, variable.shape);
    const [content] = this.host([], [{ dtype: variable.dtype, shape: variable.shape }], () => [variable.objects!]);
    this.contents.set(variable, content!);
    return content!;
  }

  /** Replaces the variable's content; its shape may change. */
  assign(variable: VariableState, value: Value): Value {
    if (variable.dtype.isObject) {
      this.host([value], [], ([array]) => {
        variable.objects = array;
        return [];
      });
      this.contents.set(variable, value);
      return { ...value, variable };
    }
    const target = this.newVersion(variable, value.shape);
    this.copyInto(value, target);
    return target;
  }

  /** The content as something to be changed in place by the next instruction (`mapInto`, `scatter`). */
  update(variable: VariableState, missing: () => OpError): Value {
    return this.newVersion(variable, this.read(variable, missing).shape);
  }

  /** Each write makes a new buffer over the same memory, so that reads before and after it can be told apart. */
  private newVersion(variable: VariableState, shape: Shape): Value {
    const buffer = new Buffer('bound', sizeOf(shape) * variable.dtype.size, undefined, variable);
    const value: Value = { ...dense(buffer, variable.dtype, shape), variable };
    this.contents.set(variable, value);
    this.versions.set(buffer, shape);
    return value;
  }

  /** The shape a variable has after the write that made this version of it. */
  shapeOfVersion(buffer: Buffer): Shape {
    return this.versions.get(buffer)!;
  }
}

const noMemory = new Buffer('temp', 0);
