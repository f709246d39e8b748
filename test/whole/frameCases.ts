/** @file The golden graphs with control flow by frames, and how what a run gives is held against TensorFlow's. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { errorFromCode, OpError } from '../../src/core/errors.ts';
import { fromNested, type NDArray, type Nested } from '../../src/core/ndarray.ts';
import type { Literal } from '../../src/graph/tensor.ts';
import { findOp } from '../../src/op/registry.ts';
import { GraphDef } from '../../src/proto/graph.ts';

export interface Step {
  readonly feeds: Readonly<Record<string, Literal>>;
  readonly fetches: readonly string[];
  readonly targets: readonly string[];
  readonly results?: readonly Nested[];
  readonly error?: { readonly code: number; readonly message: string };
}
export interface FrameCase {
  readonly name: string;
  readonly definition: GraphDef;
  readonly steps: readonly Step[];
}

type Written = Omit<FrameCase, 'definition'> & { readonly graph: string };
const file = new URL('../golden/frames.json', import.meta.url);

/** Made by tools/golden/frames.py. */
export const frameCases: readonly FrameCase[] = (JSON.parse(readFileSync(file, 'utf8')) as Written[]).map((c) => ({
  name: c.name,
  definition: GraphDef.decode(gunzipSync(Buffer.from(c.graph, 'base64'))),
  steps: c.steps,
}));

/** A step's feeds in the types that the graph's placeholders want. */
export function feedsOf({ feeds }: Step, { node }: GraphDef): [name: string, array: NDArray][] {
  return Object.entries(feeds).map(([name, value]) => {
    const { op, attr } = node.find((n) => `${n.name}:0` === name)!;
    return [name, fromNested(value as Nested, findOp(op).outputs(attr)[0]!.dtype)]; // literals of the file
  });
}

const flat = (value: unknown): unknown[] => (Array.isArray(value) ? value.flatMap(flat) : [value]);

/** Names of tensor arrays and stacks end in a number that counts all of the process; a server says where it is first. */
const comparable = (message: string) =>
  message
    .replace(/^From [^\n]*:\n/, '')
    .split('\n')[0]!
    .replace(/(\w)_\d+(?=\b)/g, '$1_N');

function expectClose(got: unknown, wanted: Nested, what: string): void {
  const [ours, theirs] = [flat(got), flat(wanted)];
  expect(ours.length, what).toBe(theirs.length);
  for (const [i, value] of theirs.entries())
    if (typeof value === 'number')
      expect(Math.abs(Number(ours[i]) - value), `${what}[${i}]: ${ours[i]} for ${value}`).toBeLessThan(
        1e-5 * Math.max(1, Math.abs(value)),
      );
    else expect(ours[i], what).toBe(value);
}

/** Compares the outcome of a step, values or error, with TensorFlow's. */
export async function expectStep(
  run: Promise<readonly NDArray[]>,
  { fetches, results, error }: Step,
  what: string,
): Promise<void> {
  if (!error) {
    for (const [i, value] of (await run).entries())
      expectClose(value.toArray(), results![i]!, `${what}: ${fetches[i]}`);
    return;
  }
  const thrown = await run.then(
    () => undefined,
    (e: unknown) => e,
  );
  expect(thrown, what).toBeInstanceOf(OpError);
  const { code, message } = thrown as OpError; // just checked
  expect([code, comparable(message)], what).toEqual([error.code, comparable(error.message)]);
}

/** What a server answered, as arrays or as the error that it told of. */
export function answered(code: number, message: string, arrays: () => NDArray[]): NDArray[] {
  if (code !== 0) throw errorFromCode(code, message);
  return arrays();
}
