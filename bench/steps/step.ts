/** @file A training step to measure: a model's graph with a session in which it is initialized. */
import * as tf from 'tensorloom';

/** What is run and what it is fed. */
export interface Model {
  /** A tensor's value is fetched, and given back. */
  readonly step: tf.Operation | tf.Tensor;
  readonly loss: tf.Tensor;
  readonly feeds: readonly (readonly [tf.Tensor, tf.NDArray])[];
}

export interface TrainingStep extends Model {
  readonly sess: tf.Session;
  run(): Promise<void>;
}

/** Builds a model in a graph of its own and initializes it. */
export async function prepare(build: () => Model, config: tf.SessionConfig = {}): Promise<TrainingStep> {
  const graph = new tf.Graph();
  const { model, init } = graph.asDefault(() => {
    tf.random.setRandomSeed(1);
    return { model: build(), init: tf.globalVariablesInitializer() };
  });
  const sess = new tf.Session({ graph, config });
  await sess.run(init);
  const run = async () => {
    const result: unknown = await sess.run(model.step, model.feeds);
    if (result instanceof tf.NDArray) result[Symbol.dispose]();
  };
  return { sess, run, ...model };
}

/** Floats in [0, 1) that are the same in every run and on every machine. */
export function numbers(shape: readonly number[], seed = 1): tf.NDArray {
  let state = seed;
  const next = () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
  return new tf.NDArray(tf.float32, shape, Float32Array.from({ length: shape.reduce((n, d) => n * d, 1) }, next));
}

/** Rows with a single one each. */
export function oneHotRows(rows: number, classes: number): tf.NDArray {
  const data = new Float32Array(rows * classes);
  for (let i = 0; i < rows; i++) data[i * classes + ((i * 7) % classes)] = 1;
  return new tf.NDArray(tf.float32, [rows, classes], data);
}
