/** @file Reads the golden files that tools/golden/graph.py wrote with real TensorFlow. */
import { readFileSync } from 'node:fs';
import type { Graph } from '../../../src/graph/graph.ts';

/** Name, inputs, control inputs, device and colocation groups of an operation. */
export type Row = [string, string[], string[], string, string[]];

export interface Program {
  steps: [string, ...unknown[]][];
  ops: Row[];
  peeks: string[];
}
export interface GoldenGraph {
  name: string;
  binary: string;
  text: string;
  shapes: Record<string, (number | null)[] | null>;
}
export interface GoldenImport {
  text: string;
  name?: string;
  map?: string[];
  returns?: string[] | null;
  error?: string;
  message?: string;
  ops?: Row[];
  versions?: [number, number, number[]];
  got?: string[];
}

export function golden<T>(name: string): T[] {
  const url = new URL(`../../golden/graph/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')) as T[]; // the script and the type describe the same file
}

/** A graph in the form of the golden files. */
export function describeGraph(graph: Graph): Row[] {
  return graph.operations.map((op) => [
    op.name,
    op.inputs.map((t) => t.name),
    op.controlInputs.map((c) => c.name).sort(),
    op.device,
    (op.attrs['_class']?.list?.s ?? []).map((s) => new TextDecoder().decode(s)).sort(),
  ]);
}
