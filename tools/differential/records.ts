/** @file The file format between exporter and Python: one JSON record per line, arrays as base64 of their bytes. */
import { string } from '../../src/core/dtypes.ts';
import type { NDArray } from '../../src/core/ndarray.ts';
import type { Dims } from '../../src/core/shape.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { GraphDef, type NodeDef } from '../../src/proto/graph.ts';

export interface ArrayRecord {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Little-endian elements in base64, or one base64 text per string. */
  readonly data: string | readonly string[];
}

/** The gradient of one graph: nodes were added under `gradients/` for the sum of `ys` weighted by `gradYs`. */
export interface GradientRecord {
  readonly ys: readonly string[];
  readonly gradYs: readonly string[];
  readonly xs: readonly string[];
  /** Dense gradients by name, `null` where there is none, slices as two names. */
  readonly grads: readonly (string | null | readonly [values: string, indices: string])[];
  readonly values: readonly (ArrayRecord | null | readonly [values: ArrayRecord, indices: ArrayRecord])[];
  readonly error?: string | undefined;
}

/** One graph with its feeds and what we say of it. */
export interface CaseRecord {
  readonly id: string;
  readonly op: string;
  /** The GraphDef in base64, and how many of its nodes are the forward part. */
  readonly graph: string;
  readonly forward: number;
  readonly targets: readonly string[];
  readonly initialize: readonly string[];
  readonly feeds: Readonly<Record<string, ArrayRecord>>;
  readonly fetches: readonly string[];
  readonly outputs?: readonly ArrayRecord[] | undefined;
  /** The message, where building or running failed here. */
  readonly error?: string | undefined;
  /** Static shapes of every tensor, by name. */
  readonly shapes: Readonly<Record<string, Dims>>;
  readonly gradient?: GradientRecord | undefined;
  /** The largest relative difference the case allows. */
  readonly tolerance?: number | undefined;
  /** Made from a case by taking another type. */
  readonly widened: boolean;
}

export function arrayRecord(array: NDArray): ArrayRecord {
  const { dtype, shape } = array;
  const data =
    dtype === string
      ? array.objects.map((bytes) => Buffer.from(bytes as Uint8Array).toString('base64')) // string arrays hold bytes
      : Buffer.from(array.bytes).toString('base64');
  return { dtype: dtype.name, shape, data };
}

/** The graph in base64; `refused` is a node that could not be built here, so that TensorFlow's opinion of it can be had. */
export function graphRecord(graph: Graph, producer: number, refused: readonly NodeDef[] = []): string {
  const def = GraphDef.create({
    node: [...graph.operations.map((op) => op.nodeDef), ...refused],
    versions: { producer, min_consumer: 0, bad_consumers: [] },
  });
  return Buffer.from(GraphDef.encode(def)).toString('base64');
}

export function shapesOf(graph: Graph): Record<string, Dims> {
  return Object.fromEntries(graph.operations.flatMap((op) => op.outputs.map((t) => [t.name, t.shape])));
}
