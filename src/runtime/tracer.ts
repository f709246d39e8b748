/** @file The tracer: lowers a pruned graph with the shapes at hand into steps, and says where it must look before going on. */
import { FailedPreconditionError, InternalError, InvalidArgumentError, OpError } from '../core/errors.ts';
import { yieldIfLong } from '../core/eventLoop.ts';
import { fromElements, NDArray } from '../core/ndarray.ts';
import { sameShape, sizeOf, stridesOf } from '../core/shape.ts';
import { isTrue } from '../core/truth.ts';
import { ProgramBuilder } from '../program/builder.ts';
import { Buffer, type HostCall } from '../program/instructions.ts';
import { CallNeeded, HostResultNeeded, ValueNeeded } from '../program/tracing.ts';
import { dense, type Value } from '../program/value.ts';
import type { NameAttrList } from '../proto/attr.ts';
import { Activation, Unrolling } from './activation.ts';
import { Assembler } from './assembler.ts';
import { foldNode } from './fold.ts';
import type { Body } from './functions.ts';
import type { Frame, Path } from './program.ts';
import { Reference, Variable } from './resources.ts';
import type { Port, RunNode } from './runGraph.ts';
import { type Guards, Surroundings, type TraceTask } from './surroundings.ts';

/** Calls within calls; a recursion without end should not take all memory first. */
const maxDepth = 500;

/** How far a trace has come. Each branch has a state of its own, for runs may follow several at once. */
interface State {
  /** Records the instructions since the last look. */
  readonly builder: ProgramBuilder;
  /** The graph, and the calls and loops inside each other that are being lowered. */
  readonly stack: (Activation | Unrolling)[];
}

export class Trace {
  private readonly surroundings: Surroundings;
  private readonly assembler: Assembler;
  private readonly fed = new Map<RunNode, (Value | undefined)[]>();
  /** Feeds that stand for variables, to be read when they are used. */
  private readonly references = new Set<Value>();

  constructor(private readonly task: TraceTask) {
    this.surroundings = new Surroundings(task, (memory) => this.assembler.fixedMemory(memory));
    this.assembler = new Assembler(task.device, (id) => this.surroundings.constantObject(id), task.atOnce);
    for (const [k, { node, index }] of task.body.args.entries()) {
      const array = task.feedArrays[k]!;
      const values = this.fed.get(node) ?? [];
      const reference = Reference.in(array);
      if (reference) {
        const { variable, shape } = reference;
        const value: Value = { ...dense(nothing, variable.dtype, shape), variable };
        this.references.add(value);
        this.guards.feeds.set(k, array);
        values[index] = value;
      } else values[index] = dense(this.assembler.feed(k, array), array.dtype, array.shape);
      this.fed.set(node, values);
    }
  }

  /** What must still hold when the program is run again, */
  get guards(): Guards {
    return this.surroundings.guards;
  }
  /** and the objects that it names. */
  get constants(): readonly object[] {
    return this.surroundings.constants;
  }

  /** Traces from the beginning to the first point where values must be looked at, or to the end. */
  start(): Promise<Path> {
    const { body, callPath } = this.task;
    return this.advance({
      builder: new ProgramBuilder(this.surroundings),
      stack: [new Activation(body, callPath, new Map())],
    });
  }

  /** The same point of the trace again, for one more way to go on from it. */
  private branch({ stack }: State): State {
    return { builder: new ProgramBuilder(this.surroundings), stack: stack.map((level) => level.copy()) };
  }

  // Lowering.
  /** Lowers nodes until the end, or until something must be run first. */
  private async advance(state: State): Promise<Path> {
    for (;;) {
      const pause = yieldIfLong();
      if (pause) await pause;
      const level = state.stack.at(-1)!;
      let path: Path | undefined;
      if (level instanceof Unrolling) path = await this.unroll(level, state);
      else if (level.position < level.body.nodes.length) path = await this.lowerNext(level, state);
      else if (state.stack.length === 1) path = await this.finish(level, state);
      else {
        state.stack.pop();
        this.handBack(
          level.body.results.map((port) => this.read(port, level, state.builder)),
          state,
        );
      }
      if (path) return path;
    }
  }

  private async lowerNext(level: Activation, state: State): Promise<Path | undefined> {
    const { builder } = state;
    const node = level.body.nodes[level.position]!;
    const mark = builder.instructions.length;
    try {
      level.values.set(node, this.lowerNode(node, level, state));
      level.position++;
      level.hostResults = [];
      level.callResults = [];
      return undefined;
    } catch (signal) {
      // A host call needs what was recorded to bring its inputs into shape.
      if (signal instanceof HostResultNeeded) return await this.callHost(signal, state);
      builder.instructions.length = mark;
      if (signal instanceof ValueNeeded) {
        if (!node.inputs.some((port) => this.valueOf(port, level) === signal.value) && !signal.value.variable)
          throw new InternalError(`'${node.name}' asks for a value that is not one of its inputs`);
        return await this.lookAt(signal.value, state);
      }
      if (!(signal instanceof CallNeeded)) return await this.failAfter(located(signal, node), state);
      try {
        return await this.enter(signal, node, level, state);
      } catch (error) {
        return await this.failAfter(located(error, node), state);
      }
    }
  }

  /**
   * What is recorded runs before a mistake in the next node counts: an assertion in front of the node, which says better what is
   * wrong, or an assignment that the node was to wait for.
   */
  private async failAfter(failure: unknown, state: State): Promise<Path> {
    const steps = failure instanceof OpError ? await this.assemble(state, [], false) : [];
    if (steps.length === 0) throw failure;
    return { steps, end: { failure } };
  }

  private lowerNode(node: RunNode, level: Activation, { builder }: State): readonly Value[] {
    builder.begin(node.name);
    builder.callPath = level.callPath;
    builder.hostResults = level.hostResults;
    builder.callResults = level.callResults;
    const inputs = node.inputs.map((port, i) => {
      const value = node.refInputs[i] ? this.valueOf(port, level) : this.read(port, level, builder);
      return value.list && !node.def.takesLists ? builder.whole(value) : value;
    });
    for (const i of node.def.hostInputs({ attrs: node.attrs, inputCount: inputs.length })) builder.demand(inputs[i]!);
    const folded = foldNode(
      node,
      inputs.map((v) => v.known),
    );
    return (
      folded?.map((array) => builder.constant(array)) ?? node.def.lower(builder, inputs, node.attrs, lowered(node))
    );
  }

  /** A reference is read when a consumer wants a value, not when the variable node runs. */
  private read(port: Port, level: Activation, builder: ProgramBuilder): Value {
    const value = this.valueOf(port, level);
    const isReference = port.node.outputs[port.index]!.isRef || this.references.has(value);
    if (!isReference || !value.variable) return value;
    return builder.read(value.variable, () => uninitialized(value.variable!.name));
  }

  private valueOf({ node, index }: Port, level: Activation): Value {
    const value = this.fed.get(node)?.[index] ?? level.values.get(node)?.[index];
    if (!value) throw new InternalError(`'${node.name}:${index}' has no value; its node was not run`);
    return value;
  }

  // Calls and loops.
  private async enter(
    { functions, inputs }: CallNeeded,
    node: RunNode,
    level: Activation,
    state: State,
  ): Promise<Path | undefined> {
    if (state.stack.length > maxDepth)
      throw new InvalidArgumentError(
        `'${node.name}' calls functions more than ${maxDepth} deep; a function may not call itself without end`,
      );
    const callPath = `${level.callPath}${node.name}/`;
    // TensorFlow makes the functions of such nodes part of the graph around them before it looks what a run needs.
    const isPruned = node.rawAttrs['_lower_using_switch_merge']?.b === true;
    const body = isPruned ? this.prunedBody(functions, node, level) : this.surroundings.bodyOf(functions.body, false);
    if (!functions.cond) {
      if (body.hasFrames) return await this.runCall(this.task.runner(body, callPath), body, inputs, state);
      this.call(body, inputs, callPath, state);
      return undefined;
    }
    const cond = this.surroundings.bodyOf(functions.cond, isPruned);
    if (cond.results.length !== 1)
      throw new InvalidArgumentError(
        `Expected a single scalar return value from WhileOp cond, got ${cond.results.length} tensors.`,
      );
    if (body.results.length !== inputs.length)
      throw new InvalidArgumentError(
        `While loop body returned ${body.results.length} arguments. Expected: ${inputs.length}`,
      );
    if (cond.hasFrames || body.hasFrames)
      return await this.runCall(this.task.loop(cond, body, callPath), body, inputs, state);
    state.stack.push(new Unrolling(cond, body, callPath, inputs));
    return undefined;
  }

  /** What of a branch or of a loop's body the outputs need that are used. */
  private prunedBody(functions: CallNeeded['functions'], node: RunNode, level: Activation): Body {
    const library = this.task.functions;
    // Functions come from attributes of nodes.
    const [body, cond] = [functions.body as NameAttrList, functions.cond as NameAttrList | undefined];
    const used = level.body.usedOutputs(node);
    // To wait for a branch is to wait for the choice only; to wait for a loop is to wait for all of it.
    if (!used || used.size === node.outputs.length || (cond && used.size === 0)) return library.body(body, true);
    return cond ? library.loopBodyFor(cond, body, used) : library.bodyFor(body, used);
  }

  private call(body: Body, inputs: readonly Value[], callPath: string, state: State): void {
    if (inputs.length !== body.args.length)
      throw new InvalidArgumentError(
        `the function ${body.name} takes ${body.args.length} inputs, but ${inputs.length} were given`,
      );
    for (const [i, { node }] of body.args.entries())
      if (node.outputs[0]!.dtype !== inputs[i]!.dtype)
        throw new InvalidArgumentError(
          `input ${i} of the function ${body.name} is ${inputs[i]!.dtype}, but ${node.outputs[0]!.dtype} is expected`,
        );
    const values = new Map(body.args.map(({ node }, i) => [node, [inputs[i]!]] as const));
    state.stack.push(new Activation(body, callPath, values));
  }

  /** Gives a function's results to whoever called it. */
  private handBack(results: readonly Value[], { stack }: State): void {
    const caller = stack.at(-1)!;
    if (caller instanceof Activation) caller.callResults = [...caller.callResults, results];
    else if (caller.isTesting) caller.condition = results[0];
    else caller.values = results;
  }

  /** Goes on with a loop: tests, applies the body, or leaves it. */
  private async unroll(loop: Unrolling, state: State): Promise<Path | undefined> {
    const { condition } = loop;
    loop.condition = undefined;
    if (!condition) {
      loop.isTesting = true;
      this.call(loop.cond, loop.values, `${loop.callPath}cond/`, state);
      return undefined;
    }
    loop.isTesting = false;
    if (!condition.known && loop.trips === 0 && this.task.looksAtBounds) {
      const bound = loop.unknownBound();
      // The test is made again with what was seen.
      if (bound) return await this.lookAt(bound, state);
    }
    if (!condition.known || loop.isLong) return await this.runLoop(loop, state);
    if (isTrue(condition.known)) {
      loop.trips++;
      this.call(loop.body, loop.values, `${loop.callPath}body/`, state);
    } else {
      state.stack.pop();
      this.handBack(loop.values, state);
    }
    return undefined;
  }

  /** Leaves the rest of a loop to a host call, which runs its body once per trip. */
  private async runLoop({ cond, body, values, callPath }: Unrolling, state: State): Promise<Path> {
    state.stack.pop();
    return await this.runCall(this.task.loop(cond, body, callPath), body, values, state);
  }

  /** Leaves a call to the host, which gives what `body` gives. */
  private async runCall(call: HostCall, body: Body, inputs: readonly Value[], state: State): Promise<Path> {
    const { builder } = state;
    const instruction = {
      kind: 'host' as const,
      inputs: inputs.map((v) => builder.whole(v)),
      call,
      node: builder.node,
    };
    const results = body.results.map(({ node, index }) => ({ dtype: node.outputs[index]!.dtype }));
    return await this.callHost(new HostResultNeeded(instruction, results), state, 'callResults');
  }

  // Stopping.
  /** The value must be known: at once for a feed, else by running what is recorded and branching on the content. */
  private async lookAt(value: Value, state: State): Promise<Path | undefined> {
    const feed = this.assembler.feedOf(value.buffer);
    if (feed !== undefined) {
      const array = this.task.feedArrays[feed]!.copy(); // the caller may change what it fed
      this.guards.feeds.set(feed, array);
      this.remember(value, seenThrough(array, value), state);
      return undefined;
    }
    const whole = state.builder.whole(value);
    const path: Path = { steps: await this.assemble(state, [whole.buffer], true) };
    const resumeFrom = this.branch(state);
    path.end = {
      values: [this.assembler.locate(whole)],
      shapes: [],
      paths: new Map(),
      resume: (_frame, [array]) => {
        const next = this.branch(resumeFrom);
        this.remember(value, array!, next);
        return this.advance(next);
      },
    };
    return path;
  }

  /** From here on the value is known. */
  private remember(value: Value, array: NDArray, { stack }: State): void {
    const known: Value = { ...value, known: array };
    for (const values of this.fed.values()) for (const [i, v] of values.entries()) if (v === value) values[i] = known;
    for (const level of stack) level.replaceLive((v) => (v === value ? known : v));
  }

  /** Runs a host call whose results have data-dependent shapes, then goes on with the results. */
  private async callHost(
    { instruction, results }: HostResultNeeded,
    state: State,
    as: 'hostResults' | 'callResults' = 'hostResults',
  ): Promise<Path> {
    const steps = await this.assemble(
      state,
      instruction.inputs.map((v) => v.buffer),
      true,
    );
    const outputs = results.map((r) => ({
      slot: this.assembler.openSlot(instruction.options),
      dtype: r.dtype,
    }));
    steps.push({
      kind: 'host',
      instruction,
      inputs: instruction.inputs.map((v) => this.assembler.locate(v)),
      outputs,
    });
    const resumeFrom = this.branch(state);
    const resume = (frame: Frame) => {
      const next = this.branch(resumeFrom);
      const level = next.stack.at(-1) as Activation; // loops leave the stack before they are run
      const given = outputs.map(({ slot, dtype }) => {
        const shape = frame.shapes[slot]!;
        return dense(this.assembler.slotBuffer(slot, dtype, shape), dtype, shape);
      });
      level[as] = [...level[as], given];
      return this.advance(next);
    };
    return { steps, end: { values: [], shapes: outputs.map((o) => o.slot), paths: new Map(), resume } };
  }

  private async finish(level: Activation, state: State): Promise<Path> {
    const { builder } = state;
    const taken = new Set<Buffer>();
    const results = level.body.results.map((port) => {
      const { variable, shape } = this.valueOf(port, level);
      if (this.task.keepsReferences && port.node.outputs[port.index]!.isRef && variable instanceof Variable)
        return builder.constant(variable.referenceOf(shape).asArray());
      const value = this.read(port, level, builder);
      if (value.known) return value;
      // The caller owns what it gets: memory of this run, used by one fetch.
      const own = builder.whole(value);
      const result = this.assembler.isOwn(own.buffer) && !taken.has(own.buffer) ? own : builder.copy(value);
      taken.add(result.buffer);
      return result;
    });
    const steps = await this.assemble(
      state,
      results.filter((v) => !v.known).map((v) => v.buffer),
      false,
    );
    return { steps, end: { fetches: results.map((v) => this.assembler.locate(v)) } };
  }

  /** Turns what is recorded into steps; when the trace goes on, what it will need survives them. */
  private async assemble(state: State, buffers: readonly Buffer[], goesOn: boolean) {
    const keep = new Set(buffers);
    if (goesOn) keepLiveValues(state, keep);
    return await this.assembler.assemble(state.builder, keep, goesOn);
  }
}

/** Values used by nodes still to come are kept; what is read from a variable is copied, for the variable may change. */
function keepLiveValues({ stack, builder }: State, keep: Set<Buffer>): void {
  const copies = new Map<Value, Value>();
  const kept = (value: Value, node?: RunNode): Value => {
    if (value.list) return { ...value, list: value.list.map((x) => kept(x)) };
    if (value.known || value.buffer.bytes === 0) return value;
    let result = value;
    if (value.buffer.owner && !(node && isReference(node))) {
      result = copies.get(value) ?? builder.copy(value);
      copies.set(value, result);
    }
    if (result.buffer.kind === 'temp') keep.add(result.buffer);
    return result;
  };
  for (const level of stack) level.replaceLive(kept);
}

/** The elements of an array that a view of its memory shows. */
function seenThrough(array: NDArray, { shape, strides, offset }: Value): NDArray {
  if (offset === 0 && sameShape(shape, array.shape) && sameShape(strides, stridesOf(shape))) return array;
  const steps = stridesOf(shape);
  const places = Array.from({ length: sizeOf(shape) }, (_, i) =>
    shape.reduce((at, size, axis) => at + (Math.floor(i / steps[axis]!) % size) * strides[axis]!, offset),
  );
  if (array.dtype.isObject)
    return new NDArray(
      array.dtype,
      shape,
      places.map((at) => array.objects[at]!),
    );
  return fromElements(
    array.dtype,
    shape,
    places.map((at) => array.at(at)),
  );
}

/** References have no memory of their own. */
const nothing = new Buffer('temp', 0);

const isReference = (node: RunNode) => node.outputs.some((o) => o.isRef);

function lowered(node: RunNode) {
  return {
    name: node.name,
    device: node.device,
    outputTypes: node.outputs.map((o) => o.dtype),
    inputNames: node.inputs.map((port) => port.node.name),
    rawAttrs: node.rawAttrs,
  };
}

function uninitialized(name: string): OpError {
  return new FailedPreconditionError(`Attempting to use uninitialized value ${name}`);
}

/** Errors of lowering say which node they are about. */
function located(error: unknown, node: RunNode): unknown {
  if (!(error instanceof OpError) || error.node !== undefined) return error;
  return error.extended(error.message, { node: node.name, op: node.def.name });
}
