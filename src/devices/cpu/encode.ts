/** @file Segments as words for the native library. Every view is checked here, so that native code need not. */
import { bool, type DType } from '../../core/dtypes.ts';
import { InternalError } from '../../core/errors.ts';
import type { Work } from '../../core/eventLoop.ts';
import { type Shape, showShape, sizeOf } from '../../core/shape.ts';
import { readsOf, writesOf } from '../../program/access.ts';
import type { Expr } from '../../program/expr.ts';
import { argumentsFirst } from '../../program/inspect.ts';
import {
  type BlocksInstruction,
  type Buffer,
  type DeviceInstruction,
  type DotInstruction,
  type MapInstruction,
  type ReduceOp,
  type Segment,
  storageOf,
  type View,
} from '../../program/instructions.ts';
import { firstRows, foldsRows, sharedViews, staysInRow } from '../../program/rows.ts';
import { isGapless } from '../../program/value.ts';
import { BlockTable, rowsPerBlock } from './blockTable.ts';
import { costOf } from './cost.ts';
import type { Family } from './library.ts';
import { type PackShare, type SharedFactors, sharedFactors } from './sharedFactors.ts';
import { Words } from './words.ts';

/** Table slots before the bound buffers. */
export const arenaSlot = 0;
export const constantsSlot = 1;
export const firstBoundSlot = 2;

/** Constants begin on cache lines, like all other buffers. */
const alignment = 64;
const align = (n: number) => Math.ceil(n / alignment) * alignment;

/** Bytes from which a constant stays where it is, for all programs that read it, and has a slot of its own. */
const largeConstant = 2 ** 16;

export interface EncodedSegment {
  readonly words: Int32Array;
  /** The size of all constants that are copied, each on a cache line of its own. */
  readonly constantBytes: number;
  /** Slots of the table. */
  readonly slots: number;
  /** The slots of the other constants. */
  readonly largeConstants: ReadonlyMap<Uint8Array, number>;
  /** The slots in which the native code wants the number of a bound buffer's content, by the index of the buffer. */
  readonly contents: ReadonlyMap<number, number>;
  /** Copies the constants to where the native code will find them. */
  copyConstants(memory: Uint8Array): void;
}

/** Encodes a segment; it may be interrupted between instructions. */
export function* encoding(
  segment: Segment,
  code: (family: Family, name: string) => number,
  room: PackShare,
): Work<EncodedSegment> {
  const shared = sharedFactors(segment.instructions, room);
  const encoder = new Encoder(segment, code, shared);
  encoder.words.push(segment.instructions.length);
  for (const instruction of segment.instructions) {
    yield;
    encoder.instruction(instruction);
  }
  return {
    words: encoder.words.all,
    constantBytes: encoder.constantBytes,
    slots: encoder.slots,
    largeConstants: encoder.largeConstants,
    contents: encoder.contents,
    copyConstants: (memory) => encoder.copyConstants(memory),
  };
}

class Encoder {
  words = new Words();
  /** Where views are: in the segment's memory, or while the steps of a block are encoded, in the block's. */
  #locate = (view: View): [slot: number, byte: number] => {
    const [slot, start] = this.#place(view.buffer);
    return [slot, start + view.offset * view.dtype.size];
  };
  readonly #bound: ReadonlyMap<Buffer, number>;
  readonly #constants = new Map<Buffer, number>();
  #constantBytes = 0;
  /** A product without memory, while it is encoded: it is found through the slot behind those of bound buffers. */
  #passing: Buffer | undefined;
  readonly #storages = new Map<object, number>();
  readonly largeConstants = new Map<Uint8Array, number>();
  readonly contents = new Map<number, number>();

  constructor(
    private readonly segment: Segment,
    private readonly code: (family: Family, name: string) => number,
    private readonly shared: SharedFactors,
  ) {
    this.#bound = new Map(segment.bound.map((buffer, i) => [buffer, firstBoundSlot + i]));
  }

  get #ownSlot(): number {
    return firstBoundSlot + this.segment.bound.length;
  }

  /** Behind those of bound buffers there is one for a product without memory, then come those that some segments need. */
  get slots(): number {
    return this.#ownSlot + 1 + this.largeConstants.size + this.contents.size;
  }

  get constantBytes(): number {
    return this.#constantBytes;
  }

  copyConstants(memory: Uint8Array): void {
    for (const [buffer, offset] of this.#constants) memory.set(buffer.data!, offset);
  }

  instruction(instruction: DeviceInstruction): void {
    const { words } = this;
    words.push(this.code('instruction', instruction.kind));
    switch (instruction.kind) {
      case 'map':
        this.#map(instruction);
        return;
      case 'reduce': {
        words.push(this.code('reduce', instruction.op));
        const nodes = this.#expression(instruction.shape, instruction.inputs, [instruction.result]);
        words.push(instruction.axes.length, ...instruction.axes, nodes.get(instruction.result)!);
        this.#view(instruction.output);
        return;
      }
      case 'dot':
        this.#dot(instruction);
        return;
      case 'conv':
        words.push(this.code('conv', instruction.result));
        this.#views(instruction.input, instruction.filter, instruction.output);
        words.push(...instruction.strides, ...instruction.dilations, ...instruction.before);
        return;
      case 'gather':
        this.#dense(instruction.params, instruction.indices, instruction.output);
        words.push(this.code('bounds', instruction.bounds));
        return;
      case 'scatter':
        words.push(this.code('combine', instruction.combine));
        this.#dense(instruction.target, instruction.indices);
        this.#view(instruction.updates);
        words.push(this.code('bounds', instruction.bounds));
        return;
      case 'scan':
        words.push(this.code('scan', instruction.op));
        this.#dense(instruction.input, instruction.output);
        words.push(Number(instruction.exclusive), Number(instruction.reverse));
        return;
      case 'topk':
        this.#dense(instruction.input, instruction.values, instruction.indices);
        return;
      case 'window':
        words.push(this.code('window', instruction.op), instruction.spans.length);
        this.#views(...instruction.inputs, instruction.output);
        this.#dense(...instruction.spans);
        return;
      case 'random': {
        const { distribution, state, reserve, low, high, output } = instruction;
        words.push(this.code('random', distribution));
        if (sizeOf(state.shape) * state.dtype.size < 24) throw new InternalError('a generator state has 24 bytes');
        this.#dense(state);
        words.push(reserve);
        if (distribution === 'uniformInt') {
          if (!low || !high) throw new InternalError('uniformInt needs low and high');
          this.#dense(low, high);
        }
        this.#dense(output);
        return;
      }
      case 'blocks':
        this.#blocks(instruction);
        return;
      case 'together':
        words.push(instruction.steps.length);
        for (const step of instruction.steps) {
          words.push(Math.ceil(costOf(step)));
          this.instruction(step);
        }
        return;
      case 'check':
        this.#view(instruction.input);
        return;
    }
  }

  /** The steps, for a whole block and for what is left at the end, see a table of their own that moves with the rows. */
  #blocks(instruction: BlocksInstruction): void {
    const { rows, steps, locals } = instruction;
    const shared = new Set(steps.flatMap(sharedViews));
    for (const step of steps)
      for (const view of [...readsOf(step), ...writesOf(step)]) {
        checkInside(view);
        if (locals.has(view.buffer) && (shared.has(view) || !staysInRow(view, rows)))
          throw new InternalError(`${describe(view)} leaves the row of a block that it is at`);
      }
    const height = rowsPerBlock(instruction);
    const table = new BlockTable(locals, rows, height, shared, (buffer) => this.#place(buffer));
    const across: { op: ReduceOp; output: View; partial: View }[] = [];
    const local = steps.map((step) => {
      if (!foldsRows(step)) return step;
      const [output] = writesOf(step) as [View]; // folds have one result
      const partial = table.partial(output);
      across.push({ op: step.kind === 'reduce' ? step.op : 'sum', output, partial });
      return step.kind === 'conv' ? { ...step, filter: partial } : { ...step, output: partial };
    });
    const [outer, locate] = [this.words, this.#locate];
    this.#locate = (view) => table.locate(view);
    const [whole, last] = [height, rows % height].map((count) => {
      this.words = new Words();
      if (count > 0) for (const step of local) this.instruction(firstRows(step, count));
      return this.words;
    }) as [Words, Words]; // one for each count
    this.words = outer;
    this.#locate = locate;

    outer.push(rows, height, Math.ceil(costOf(instruction)), table.slots.length);
    for (const { outer: slot, offset, rowBytes } of table.slots) outer.push(slot, offset, rowBytes);
    outer.push(table.localBytes, across.length);
    for (const { op, output, partial } of across) {
      outer.push(this.code('reduce', op), table.locate(partial)[0]);
      // Both lie in memory in the same order, so that they are joined from one end to the other.
      if (!isGapless(output)) throw new InternalError(`${describe(output)} has gaps`);
      this.#dense({ ...output, shape: [sizeOf(output.shape)], strides: [1] });
    }
    outer.pushAll(whole);
    outer.pushAll(last);
  }

  #dot(dot: DotInstruction): void {
    const { a, b, output, more = [], plus, after, passing } = dot;
    if (passing) this.#passing = output.buffer;
    this.#views(a, b, output);
    this.words.push(more.length);
    for (const factors of more) this.#views(factors.a, factors.b);
    this.#packing(dot);
    this.words.push(Number(plus !== undefined));
    if (plus) this.#view(plus);
    this.words.push(Number(after !== undefined));
    if (after) this.#map(after);
    this.words.push(passing ? this.#ownSlot : -1);
    this.#passing = undefined;
  }

  /** For which products and how long the second factor is packed. */
  #packing(dot: DotInstruction): void {
    const { words, shared } = this;
    const pack = shared.numbers.get(dot);
    if (pack === undefined) {
      words.push(-1);
      return;
    }
    const lasting = shared.lasting.get(pack) ?? 'oneRun';
    words.push(pack, this.code('lasts', typeof lasting === 'string' ? lasting : 'whileContent'));
    if (typeof lasting !== 'string') words.push(this.#contentSlot(lasting.buffer), Number(lasting.isShared));
  }

  #contentSlot(buffer: Buffer): number {
    const index = this.#bound.get(buffer)! - firstBoundSlot;
    return slotIn(this.contents, index, this.slots);
  }

  #map({ shape, inputs, outputs, results }: MapInstruction): void {
    const nodes = this.#expression(shape, inputs, results);
    this.words.push(outputs.length);
    for (const [i, output] of outputs.entries()) {
      this.#view(output);
      this.words.push(nodes.get(results[i]!)!);
    }
  }

  #dtype(dtype: DType): number {
    // Strings and handles travel as int32 ids.
    return this.code('dtype', dtype === bool ? 'bool' : dtype.storage === 'object' ? 'i32' : dtype.storage);
  }

  #views(...views: readonly View[]): void {
    for (const view of views) this.#view(view);
  }

  /** Views that an instruction reads and writes as plain arrays. */
  #dense(...views: readonly View[]): void {
    for (const view of views) {
      let step = 1;
      for (let d = view.shape.length - 1; d >= 0; d--) {
        if (view.shape[d] !== 1 && view.strides[d] !== step && sizeOf(view.shape) > 0)
          throw new InternalError(`${describe(view)} must be contiguous`);
        step *= view.shape[d]!;
      }
      this.#view(view);
    }
  }

  #view(view: View): void {
    const { shape, strides, dtype, buffer } = view;
    const [slot, byte] = this.#locate(view);
    checkInside(view);
    const steps = buffer === this.#passing ? spacedRows(view) : strides;
    this.words.push(this.#dtype(dtype), slot, this.#storage(buffer), byte, shape.length, ...shape, ...steps);
  }

  /** A number that buffers share exactly when they may be the same memory. */
  #storage(buffer: Buffer): number {
    const owner = storageOf(buffer);
    let number = this.#storages.get(owner);
    if (number === undefined) this.#storages.set(owner, (number = this.#storages.size));
    return number;
  }

  /** A buffer's table slot, and its byte offset in it. */
  #place(buffer: Buffer): [slot: number, start: number] {
    if (buffer === this.#passing) return [this.#ownSlot, 0];
    const bound = this.#bound.get(buffer);
    if (bound !== undefined) return [bound, 0];
    if (buffer.data) {
      let start = this.#constants.get(buffer);
      if (start === undefined) {
        if (buffer.data.byteLength < buffer.bytes) throw new InternalError('a constant is shorter than its buffer');
        if (buffer.bytes >= largeConstant) return [slotIn(this.largeConstants, buffer.data, this.slots), 0];
        start = this.#constantBytes;
        this.#constants.set(buffer, start);
        this.#constantBytes += align(buffer.data.byteLength);
      }
      return [constantsSlot, start];
    }
    const start = this.segment.arena.get(buffer);
    // Nothing is read or written in an empty buffer, so that any place will do; the plan gives it none.
    if (start === undefined && buffer.bytes === 0) return [arenaSlot, 0];
    if (start === undefined)
      throw new InternalError(`a ${buffer.kind} buffer of ${buffer.bytes} bytes has no place in its segment`);
    if (start < 0 || start + buffer.bytes > this.segment.arenaBytes)
      throw new InternalError(`a buffer of ${buffer.bytes} bytes at ${start} lies outside its arena`);
    return [arenaSlot, start];
  }

  /** Writes shape, inputs and nodes in an order in which arguments come first; gives the nodes' positions. */
  #expression(shape: Shape, inputs: readonly View[], results: readonly Expr[]): Map<Expr, number> {
    this.words.push(shape.length, ...shape, inputs.length);
    this.#views(...inputs);
    const positions = new Map<Expr, number>();
    const leaves = new Map<string, number>();
    const order: Expr[] = [];
    for (const result of results)
      argumentsFirst(result, positions, (node) => {
        const key = leafKey(node);
        const known = key === undefined ? undefined : leaves.get(key);
        positions.set(node, known ?? order.length);
        if (known !== undefined) return;
        if (key !== undefined) leaves.set(key, order.length);
        order.push(node);
      });
    this.words.push(order.length);
    for (const node of order) this.#node(node, positions);
    return positions;
  }

  #node(node: Expr, positions: ReadonlyMap<Expr, number>): void {
    this.words.push(this.code('op', node.op), this.#dtype(node.dtype));
    if (node.op === 'input') this.words.push(node.index);
    else if (node.op === 'index') this.words.push(node.axis);
    else if (node.op === 'const') this.#constant(node.dtype, node.value);
    else for (const arg of node.args) this.words.push(positions.get(arg)!);
  }

  #constant(dtype: DType, value: number | bigint | readonly [number, number]): void {
    const [re, im] = typeof value === 'object' ? value : [value, 0];
    if (dtype.isFloating || dtype.isComplex) {
      this.words.pushDouble(Number(re));
      this.words.pushDouble(im);
    } else {
      if (typeof re === 'bigint') this.words.pushBig(BigInt.asIntN(64, re));
      else if (Number.isSafeInteger(re)) this.words.push(re);
      else this.words.pushBig(dtype === bool ? BigInt(re !== 0) : wholeNumber(re));
      this.words.push(0);
    }
  }
}

/** A number beyond 2^53, or not whole, as an integer; what is no number at all as the smallest, as casts do. */
const wholeNumber = (x: number): bigint =>
  Number.isFinite(x) ? BigInt.asIntN(64, BigInt(Math.trunc(x))) : -(2n ** 63n);

/** Leaves that say the same are one node, however many objects say it. */
function leafKey(node: Expr): string | undefined {
  if (node.op === 'input') return `input ${node.index}`;
  if (node.op === 'index') return `index ${node.axis}`;
  if (node.op === 'const') {
    const show = (x: number | bigint) => (Object.is(x, -0) ? '-0' : String(x));
    const { value } = node;
    return `const ${node.dtype} ${typeof value === 'object' ? value.map(show).join() : show(value)}`;
  }
  return undefined;
}

const describe = (view: View): string =>
  `a ${view.dtype} view of shape ${showShape(view.shape)}, strides ${showShape(view.strides)} and offset ${view.offset}`;

/** Throws unless every element of the view lies inside its buffer. */
function checkInside(view: View): void {
  const { shape, strides, offset, buffer, dtype } = view;
  if (shape.length !== strides.length) throw new InternalError(`${describe(view)} has not one stride per dim`);
  let low = offset;
  let high = offset;
  for (let d = 0; d < shape.length; d++) {
    const size = shape[d]!;
    if (!Number.isSafeInteger(size) || size < 0 || !Number.isSafeInteger(strides[d]))
      throw new InternalError(`${describe(view)} is malformed`);
    if (size === 0) return; // no elements, nothing to reach
    const reach = (size - 1) * strides[d]!;
    if (reach < 0) low += reach;
    else high += reach;
  }
  if (!(low >= 0 && (high + 1) * dtype.size <= buffer.bytes))
    throw new InternalError(`${describe(view)} reaches outside its buffer of ${buffer.bytes} bytes`);
}

/** Rows that are whole pages apart fall on the same few lines of the first cache. */
const pageBytes = 4096;

/** Strides of an array in memory of the device's own, with some room behind rows that would be whole pages apart. */
function spacedRows({ shape, strides, dtype }: View): readonly number[] {
  const columns = shape.at(-1)!;
  if (columns === 0 || (columns * dtype.size) % pageBytes !== 0) return strides;
  return strides.map((step, axis) => (axis < strides.length - 1 ? (step / columns) * (columns + spacing) : step));
}
const spacing = 16;

/** The slot of something, which is the next one if it has none yet. */
function slotIn<K>(slots: Map<K, number>, key: K, next: number): number {
  let slot = slots.get(key);
  if (slot === undefined) slots.set(key, (slot = next));
  return slot;
}
