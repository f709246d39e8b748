/** @file The order in which an einsum of three or more tensors multiplies them: greedily, the cheapest pair first. */
import type { Dims } from '../../core/shape.ts';

/** One pairwise product: which of the remaining operands (largest position first), and its equation. */
export interface PairStep {
  readonly pick: readonly number[];
  readonly equation: string;
}

const union = (a: string, b: string) => [...new Set(a + b)];

/** The pairs to multiply; results go to the end of the list of operands. */
export function contractionPath(equation: string, shapes: readonly Dims[]): PairStep[] {
  const [left, output] = equation.split('->') as [string, string]; // the equation is complete
  const terms = left.split(',');
  const sizes = labelSizes(terms, shapes);
  const sizeOf = (labels: Iterable<string>) => [...labels].reduce((n, l) => n * (sizes.get(l) ?? 1), 1);
  const steps: PairStep[] = [];
  while (terms.length > 2) {
    const best = { cost: Number.POSITIVE_INFINITY, i: 0, j: 1, result: '' };
    for (let i = 0; i < terms.length; i++)
      for (let j = i + 1; j < terms.length; j++) {
        const rest = terms.filter((_, k) => k !== i && k !== j).join('') + output;
        const result = union(terms[j]!, terms[i]!).filter((l) => rest.includes(l));
        // What the product adds to memory; a pair that shares nothing is an outer product and comes last.
        const grows = sizeOf(result) - sizeOf(terms[i]!) - sizeOf(terms[j]!);
        const shares = [...terms[i]!].some((l) => terms[j]!.includes(l));
        const cost = shares ? grows : grows + 1e15;
        if (cost < best.cost) Object.assign(best, { cost, i, j, result: result.join('') });
      }
    const { i, j, result } = best;
    steps.push({ pick: [j, i], equation: `${terms[j]},${terms[i]}->${result}` });
    terms.splice(j, 1);
    terms.splice(i, 1);
    terms.push(result);
  }
  steps.push({ pick: [1, 0], equation: `${terms[1]},${terms[0]}->${output}` });
  return steps;
}

function labelSizes(terms: readonly string[], shapes: readonly Dims[]): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const [k, labels] of terms.entries()) {
    const dims = shapes[k];
    if (!dims) continue;
    const hidden = dims.length - labels.length + 1;
    let axis = 0;
    for (const label of labels) {
      const width = label === '0' ? hidden : 1;
      const size = dims.slice(axis, axis + width).reduce<number>((n, d) => n * (d ?? 1), 1);
      sizes.set(label, Math.max(sizes.get(label) ?? 1, size));
      axis += width;
    }
  }
  return sizes;
}
