/** @file Turns an expression graph into one closure that computes it at the current point. */
import { InternalError, UnimplementedError } from '../../core/errors.ts';
import type { BinaryOp, CompareOp, Expr, PartOp, TestOp, UnaryOp } from '../../program/expr.ts';
import { argumentsFirst } from '../../program/inspect.ts';
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

/** So many operations deep closures call each other: the stack has an end, and sums may be of any length. */
const mostNested = 200;

/**
 * Compiles expressions that share nodes. `compute` first refreshes the nodes used more than once, and some of those that are deep inside
 * others, in an order in which arguments precede their users, then gives one value per expression.
 */
export function compileExpressions(
  roots: readonly Expr[],
  surroundings: Surroundings,
): { shared: (() => void)[]; results: Compute[] } {
  const uses = new Map<Expr, number>();
  const use = (node: Expr) => uses.set(node, (uses.get(node) ?? 0) + 1);
  const nodes = new Map<Expr, true>();
  for (const root of roots) {
    use(root);
    argumentsFirst(root, nodes, (node) => {
      nodes.set(node, true);
      if ('args' in node) node.args.forEach(use);
    });
  }

  const shared: (() => void)[] = [];
  const compiled = new Map<Expr, { readonly compute: Compute; readonly depth: number }>();
  const computeOf = (node: Expr) => compiled.get(node)!.compute;
  for (const node of nodes.keys()) {
    const compute = compileNode(node, surroundings, computeOf);
    const depth = 'args' in node ? 1 + Math.max(0, ...node.args.map((arg) => compiled.get(arg)!.depth)) : 0;
    if (depth === 0 || (uses.get(node) === 1 && depth < mostNested)) {
      compiled.set(node, { compute, depth });
      continue;
    }
    const cell: { value: Value } = { value: 0 };
    shared.push(() => {
      cell.value = compute();
    });
    compiled.set(node, { compute: () => cell.value, depth: 0 });
  }
  return { shared, results: roots.map(computeOf) };
}

function compileNode(node: Expr, { inputs, index }: Surroundings, computeOf: (arg: Expr) => Compute): Compute {
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
      return compileOperation(node, node.args.map(computeOf));
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
