/** @file Looking into expressions: what they depend on, how large they are, and copies with other inputs. */
import type { Expr } from './expr.ts';

const failing: ReadonlySet<string> = new Set(['div', 'floordiv', 'floormod', 'truncmod', 'pow']);

/** Integer division and powers fail on some operands. */
export function canFail(x: Expr, known = new Map<Expr, boolean>()): boolean {
  if (!('args' in x)) return false;
  let result = known.get(x);
  if (result === undefined) {
    result = (failing.has(x.op) && x.dtype.isInteger) || x.args.some((a) => canFail(a, known));
    known.set(x, result);
  }
  return result;
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
  const known = done.get(root);
  if (known) return known;
  let copy: Expr;
  if (root.op === 'input') copy = leaf(root.index, root);
  else if ('args' in root) copy = { ...root, args: root.args.map((a) => rebuild(a, leaf, done)) };
  else copy = root;
  done.set(root, copy);
  return copy;
}
