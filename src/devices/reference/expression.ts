/** @file Turns an expression graph into one closure that computes it at the current point. */
import { InternalError, UnimplementedError } from '../../core/errors.ts';
import type { BinaryOp, CompareOp, Expr, PartOp, TestOp, UnaryOp } from '../../program/expr.ts';
import { castOf } from './casts.ts';
import { angle, magnitude } from './complex.ts';
import type { Cursor } from './memory.ts';
import { arithmeticOf } from './scalars.ts';
import { constantValue, type Pair, type Value } from './values.ts';

type Compute = () => Value;
type Operation = Extract<Expr, { args: readonly Expr[] }>;

/** What expressions look at: the inputs' cursors and the point of the iteration space. */
export interface Surroundings {
  readonly inputs: readonly Cursor[];
  readonly index: readonly number[];
}

const parts: Record<PartOp, (x: Pair) => number> = {
  real: (x) => x[0],
  imag: (x) => x[1],
  arg: angle,
  cabs: magnitude,
};

/**
 * Compiles expressions that share nodes. `compute` first refreshes the nodes used more than once, in an order in which
 * arguments precede their users, then gives one value per expression.
 */
export function compileExpressions(
  roots: readonly Expr[],
  surroundings: Surroundings,
): { shared: (() => void)[]; results: Compute[] } {
  const uses = new Map<Expr, number>();
  const count = (node: Expr): void => {
    const before = uses.get(node) ?? 0;
    uses.set(node, before + 1);
    if (before === 0 && 'args' in node) node.args.forEach(count);
  };
  roots.forEach(count);

  const shared: (() => void)[] = [];
  const compiled = new Map<Expr, Compute>();
  const compile = (node: Expr): Compute => {
    const known = compiled.get(node);
    if (known) return known;
    let compute = compileNode(node, surroundings, compile);
    if (uses.get(node)! > 1 && 'args' in node) {
      const cell: { value: Value } = { value: 0 };
      const fresh = compute;
      shared.push(() => {
        cell.value = fresh();
      });
      compute = () => cell.value;
    }
    compiled.set(node, compute);
    return compute;
  };
  const results = roots.map(compile);
  return { shared, results };
}

function compileNode(node: Expr, { inputs, index }: Surroundings, compile: (node: Expr) => Compute): Compute {
  switch (node.op) {
    case 'input': {
      const cursor = inputs[node.index];
      if (!cursor) throw new InternalError(`an expression reads input ${node.index} of ${inputs.length}`);
      const { load } = arithmeticOf(node.dtype);
      return () => load(cursor.place.data, cursor.at);
    }
    case 'const': {
      const value = constantValue(node.value, node.dtype);
      return () => value;
    }
    case 'index': {
      const { axis } = node;
      return () => BigInt(index[axis]!);
    }
    default:
      return compileOperation(node, node.args.map(compile));
  }
}

function compileOperation(node: Operation, args: readonly Compute[]): Compute {
  const from = node.args[0]!.dtype;
  const x = args[0]!;
  const y = args[1]!;
  switch (node.op) {
    case 'select': {
      const z = args[2]!;
      return () => {
        // Both sides are computed before one is chosen: a division by zero fails in either, as on a vector machine.
        const condition = x();
        const yes = y();
        const no = z();
        return condition ? yes : no;
      };
    }
    case 'cast': {
      const convert = castOf(from, node.dtype);
      return () => convert(x());
    }
    case 'complex': {
      const { round } = arithmeticOf(node.dtype);
      return () => round([x() as number, y() as number]); // a complex number's parts are floats
    }
    case 'real':
    case 'imag':
    case 'arg':
    case 'cabs': {
      const part = parts[node.op];
      const { round } = arithmeticOf(node.dtype);
      return () => {
        const value = x();
        return round(part(typeof value === 'object' ? value : [Number(value), 0]));
      };
    }
    default: {
      const { unary, binary, compare, test, round } = arithmeticOf(from);
      const one = unary[node.op as UnaryOp]; // tables answer undefined to the names they do not have
      if (one) return () => round(one(x()));
      const two = binary[node.op as BinaryOp];
      if (two) return () => round(two(x(), y()));
      const comparison = compare[node.op as CompareOp];
      if (comparison) return () => (comparison(x(), y()) ? 1 : 0);
      const property = test[node.op as TestOp];
      if (property) return () => (property(x()) ? 1 : 0);
      throw new UnimplementedError(`'${node.op}' is not defined for ${from}`);
    }
  }
}
