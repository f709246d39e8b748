/** @file Instructions in words, for profiles and tests: `dot [128, 784] · [784, 512] then max(x0 + x1, 0)`. */
import { showShape } from '../core/shape.ts';
import { readsOf, writesOf } from './access.ts';
import type { Expr } from './expr.ts';
import type { DeviceInstruction } from './instructions.ts';

/** One line: the kind, the shapes that matter, and what is computed. */
export function describe(i: DeviceInstruction): string {
  switch (i.kind) {
    case 'map':
      return `map ${showShape(i.shape)} ${showExpressions(i.results)}`;
    case 'reduce':
      return `reduce ${showShape(i.shape)} over ${i.axes.join()} ${i.op} of ${showExpressions([i.result])}`;
    case 'dot': {
      const count = i.more ? `sum of ${1 + i.more.length} ` : '';
      const product = `${count}dot ${showShape(i.a.shape)} · ${showShape(i.b.shape)}${i.plus ? ' + sum' : ''}`;
      return i.after ? `${product} then ${showExpressions(i.after.results)}` : product;
    }
    case 'blocks':
      return `blocks of ${i.rows} rows: ${i.steps.map(describe).join('; ')}`;
    case 'together':
      return i.steps.map(describe).join(' | ');
    default: {
      const show = (views: readonly { shape: readonly number[] }[]) => views.map((v) => showShape(v.shape)).join(', ');
      return `${i.kind} ${show(readsOf(i))} -> ${show(writesOf(i))}`;
    }
  }
}

const operators: Readonly<Record<string, string>> = {
  add: '+',
  sub: '-',
  mul: '*',
  div: '/',
  eq: '==',
  ne: '!=',
  lt: '<',
  le: '<=',
  gt: '>',
  ge: '>=',
};

/** Expressions as formulas over x0, x1 …; only the operations are named when the formulas would be long. */
function showExpressions(results: readonly Expr[], limit = 60): string {
  const short = results.map((r) => show(r, { left: limit })).join(', ');
  return short.length <= limit ? short : `${results.length} results of ${short.slice(0, limit)}…`;
}

/** `budget` keeps shared subexpressions from being written out without end. */
function show(x: Expr, budget: { left: number }, nested = false): string {
  if (budget.left-- < 0) return '…';
  if (!('args' in x)) return x.op === 'input' ? `x${x.index}` : x.op === 'index' ? `i${x.axis}` : String(x.value);
  const operator = operators[x.op];
  if (!operator) return `${x.op === 'cast' ? x.dtype.name : x.op}(${x.args.map((a) => show(a, budget)).join(', ')})`;
  const text = x.args.map((a) => show(a, budget, true)).join(` ${operator} `);
  return nested ? `(${text})` : text;
}
