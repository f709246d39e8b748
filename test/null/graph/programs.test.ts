/** @file Names, devices, control inputs and colocation of 200 random programs are Python's. */
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../../src/graph/operation.ts';
import { describeGraph, golden, type Program } from './golden.ts';

/** Repeats the steps that Python took; scopes nest through recursion. */
function replay({ steps }: Program, graph: tf.Graph): string[] {
  const peeks: string[] = [];
  const pick = (x: number): Operation | undefined => graph.operations[Math.floor(x * graph.operations.length)];
  let at = 0;
  const body = (): void => {
    while (at < steps.length) {
      const [kind, ...args] = steps[at++]!;
      // Each kind of step has its own arguments, as the script wrote them.
      if (kind === 'leave') return;
      if (kind === 'scope') tf.nameScope(args[0] as string, body);
      else if (kind === 'device') tf.device(args[0] as string | null, body);
      else if (kind === 'control') {
        const wanted = args[0] as number[] | null;
        tf.controlDependencies(wanted?.map(pick).filter((op) => op !== undefined) ?? null, body);
      } else if (kind === 'colocate') {
        const other = pick(args[0] as number);
        if (other) tf.colocateWith(other, body, { ignoreExisting: args[1] as boolean });
        else body();
      } else if (kind === 'peek') peeks.push(graph.uniqueName(args[0] as string, args[1] as boolean));
      else {
        const other = args[1] === null ? undefined : pick(args[1] as number);
        if (other) tf.identity(other.outputs[0]!, { name: args[0] as string });
        else tf.constant(1, { dtype: tf.float32, name: args[0] as string });
      }
    }
  };
  graph.asDefault(body);
  return peeks;
}

describe('random programs', () => {
  for (const [i, program] of golden<Program>('programs').entries())
    it(`program ${i}`, () => {
      const graph = new tf.Graph();
      const peeks = replay(program, graph);
      expect(describeGraph(graph)).toEqual(program.ops);
      expect(peeks).toEqual(program.peeks);
    });
});
