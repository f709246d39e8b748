/** @file Looking into expressions: what they depend on, how large they are, and copies with other inputs. */
import type { Expr } from './expr.ts';

const failing: ReadonlySet<string> = new Set(['div', 'floordiv', 'floormod', 'truncmod', 'pow']);

/** Integer division and powers fail on some operands. */
export function canFail(root: Expr, known = new Map<Expr, boolean>()): boolean {
  if (!('args' in root)) return false;
  argumentsFirst(root, known, (x) => {
    const fails = failing.has(x.op) && x.dtype.isInteger;
    known.set(x, fails || ('args' in x && x.args.some((a) => known.get(a))));
  });
  return known.get(root)!;
}

/** The axes whose positions an expression depends on. */
export function axesUsed(roots: readonly Expr[]): Set<number> {
  const axes = new Set<number>();
  visitOnce(roots, (x) => {
    if (x.op === 'index') axes.add(x.axis);
  });
  return axes;
}

export function countNodes(roots: readonly Expr[]): number {
  let count = 0;
  visitOnce(roots, () => count++);
  return count;
}

function visitOnce(roots: readonly Expr[], visit: (x: Expr) => void): void {
  const seen = new Set<Expr>();
  const stack = [...roots];
  for (let x = stack.pop(); x; x = stack.pop()) {
    if (seen.has(x)) continue;
    seen.add(x);
    visit(x);
    if ('args' in x) stack.push(...x.args);
  }
}

/** Copies an expression graph, keeping what was shared shared. */
export function rebuild(root: Expr, leaf: (index: number, e: Expr) => Expr, done = new Map<Expr, Expr>()): Expr {
  argumentsFirst(root, done, (x) => {
    if (x.op === 'input') done.set(x, leaf(x.index, x));
    else done.set(x, 'args' in x ? { ...x, args: x.args.map((a) => done.get(a)!) } : x);
  });
  return done.get(root)!;
}

/** Calls `visit`, which adds to `done`, for every node that is not there yet, arguments before users; without recursion, as sums are long. */
export function argumentsFirst(root: Expr, done: ReadonlyMap<Expr, unknown>, visit: (node: Expr) => void): void {
  const stack: Expr[] = [root];
  while (stack.length > 0) {
    const node = stack.at(-1)!;
    const waiting = done.has(node) || !('args' in node) ? undefined : node.args.filter((arg) => !done.has(arg));
    if (waiting?.length) {
      for (let i = waiting.length - 1; i >= 0; i--) stack.push(waiting[i]!);
      continue;
    }
    stack.pop();
    if (!done.has(node)) visit(node);
  }
}
