/**
 * @file Second factors that are packed once for several products: for those of a segment that share one, such as the weights in a loop,
 * and for all runs where a factor is a constant, such as the weights of a frozen graph.
 */
import { float32 } from '../../core/dtypes.ts';
import { writesOf } from '../../program/access.ts';
import { type DeviceInstruction, type DotInstruction, storageOf, type View } from '../../program/instructions.ts';

/** So many products must share a factor that may be another one in the next run. */
const minShared = 3;
/** A product with more rows than this packs its factor for itself at little cost. */
const maxRows = 256;
/** With fewer rows than this one product alone is faster with the factor as it is, which is smaller. */
const minRows = 32;

interface Sharing {
  readonly products: DotInstruction[];
  last: number;
}

/** Numbers for factors, by the products that share one. Nothing is written to a factor between the first and the last of them. */
export function sharedFactors(instructions: readonly DeviceInstruction[]): Map<DotInstruction, number> {
  const groups: Sharing[] = [];
  const open = new Map<string, Sharing>();
  const ids = new Map<object, number>();
  function idOf(o: object): number {
    if (!ids.has(o)) ids.set(o, ids.size);
    return ids.get(o)!;
  }
  const written = new Map<object, number>();
  for (const [position, instruction] of instructions.entries()) {
    const steps = instruction.kind === 'together' ? instruction.steps : [instruction];
    for (const dot of steps) {
      if (dot.kind !== 'dot' || !isCandidate(dot)) continue;
      const { buffer, offset, shape, strides } = dot.b;
      const key = [idOf(buffer), offset, ...shape, ...strides].join();
      let sharing = open.get(key);
      if (!sharing || (written.get(storageOf(buffer)) ?? -1) >= sharing.last) {
        sharing = { products: [], last: position };
        open.set(key, sharing);
        groups.push(sharing);
      }
      sharing.products.push(dot);
      sharing.last = position;
    }
    for (const v of writesOf(instruction)) written.set(storageOf(v.buffer), position);
  }
  const numbers = new Map<DotInstruction, number>();
  let next = 0;
  for (const { products } of groups) {
    const [{ a, b }] = products as [DotInstruction]; // a group begins with one
    if (products.length < minShared && !(isConstant(b) && a.shape[0]! >= minRows)) continue;
    for (const dot of products) numbers.set(dot, next);
    next++;
  }
  return numbers;
}

/** Whether nothing ever writes what a view shows. */
export const isConstant = ({ buffer }: View): boolean => buffer.data !== undefined;

const isCandidate = ({ b, a, more }: DotInstruction): boolean =>
  b.dtype === float32 && b.shape.length === 2 && a.shape[0]! <= maxRows && !more;
