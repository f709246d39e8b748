/** @file How long instructions will take, roughly: enough to share them out among threads, and to tell what may run on the event loop. */
import { sizeOf } from '../../core/shape.ts';
import type { Expr } from '../../program/expr.ts';
import type { DeviceInstruction, View } from '../../program/instructions.ts';

/**
 * Nanoseconds on one thread of a present-day core. How they compare with each other decides how instructions are shared out among
 * threads, so what is measured once is measured for all: with vectors of 512 bits and the matrix unit.
 */
const perByte = 0.03;
const perSimpleOperation = 0.04;
const perFunction = 0.3;
const perRareFunction = 20;
export const perMultiplyAdd = 0.01;
/** For each result of a product. */
const perProduct = 0.3;
const perPlainMultiplyAdd = 1;
const perRandomNumber = 8;
const perTruncatedNumber = 60;
const perInstruction = 150;

const simple = new Set<string>([
  ...[
    'input',
    'const',
    'index',
    'neg',
    'abs',
    'sign',
    'floor',
    'ceil',
    'rint',
    'sqrt',
    'rsqrt',
    'reciprocal',
    'square',
  ],
  ...['conj', 'not', 'invert', 'add', 'sub', 'mul', 'div', 'max', 'min', 'and', 'or', 'xor', 'shl', 'shr', 'eq', 'ne'],
  ...['lt', 'le', 'gt', 'ge', 'isnan', 'isinf', 'isfinite', 'real', 'imag', 'select', 'cast', 'complex'],
]);
const vectorized = new Set<string>(['exp', 'expm1', 'log', 'log1p', 'tanh', 'sigmoid', 'erf', 'sin', 'cos']);

const bytesOf = (view: View): number => sizeOf(view.shape) * view.dtype.size;

function perPoint(results: readonly Expr[]): number {
  const seen = new Set<Expr>();
  const stack = [...results];
  let cost = 0;
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    const fast = node.dtype.storage === 'f32';
    cost += simple.has(node.op) ? perSimpleOperation : fast && vectorized.has(node.op) ? perFunction : perRareFunction;
    if ('args' in node) stack.push(...node.args);
  }
  return cost;
}

/** Estimated nanoseconds of one instruction on one thread. */
export function costOf(instruction: DeviceInstruction): number {
  switch (instruction.kind) {
    case 'map': {
      const bytes = [...instruction.inputs, ...instruction.outputs].reduce((sum, view) => sum + bytesOf(view), 0);
      return perInstruction + bytes * perByte + sizeOf(instruction.shape) * perPoint(instruction.results);
    }
    case 'reduce': {
      const bytes = instruction.inputs.reduce((sum, view) => sum + bytesOf(view), 0);
      const points = sizeOf(instruction.shape);
      return perInstruction + bytes * perByte + points * (perSimpleOperation + perPoint([instruction.result]));
    }
    case 'dot': {
      const { a, output, after, more } = instruction;
      const terms = a.shape.at(-1)! * (1 + (more?.length ?? 0));
      const fast = output.dtype.isFloating ? perMultiplyAdd : perPlainMultiplyAdd;
      const product = perInstruction + sizeOf(output.shape) * (terms * fast + perProduct);
      return after ? product + costOf(after) : product;
    }
    case 'conv': {
      const { input, filter, output } = instruction;
      const products = sizeOf(output.shape) * sizeOf(filter.shape.slice(2));
      return perInstruction + products * (input.dtype.isFloating ? perMultiplyAdd : perPlainMultiplyAdd);
    }
    case 'gather':
      return perInstruction + 2 * bytesOf(instruction.output) * perByte + sizeOf(instruction.indices.shape) * 4;
    case 'scatter':
      return perInstruction + 3 * bytesOf(instruction.updates) * perByte + sizeOf(instruction.indices.shape) * 20;
    case 'scan':
      return perInstruction + sizeOf(instruction.input.shape) * (instruction.op === 'logsumexp' ? 30 : 3);
    case 'topk':
      return perInstruction + sizeOf(instruction.input.shape) * 10;
    case 'window': {
      const { inputs, output } = instruction;
      const bytes = [...inputs, output].reduce((sum, view) => sum + bytesOf(view), 0);
      return perInstruction + bytes * 4 * perByte;
    }
    case 'random': {
      const each = instruction.distribution === 'truncatedNormal' ? perTruncatedNumber : perRandomNumber;
      return perInstruction + sizeOf(instruction.output.shape) * each;
    }
    case 'blocks':
    case 'together':
      return instruction.steps.reduce((sum, step) => sum + costOf(step), perInstruction);
    case 'check':
      return perInstruction + sizeOf(instruction.input.shape);
  }
}
