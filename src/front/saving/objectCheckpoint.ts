/** @file Checkpoints of objects, as `tf.train.Checkpoint` of TensorFlow 2 writes them, read by the names of variables. */
import { openCheckpoint } from '../../io/checkpointReader.ts';
import { TrackableObjectGraph } from '../../proto/trackableObjectGraph.ts';

const objectGraphKey = '_CHECKPOINTABLE_OBJECT_GRAPH';

/** Names of variables to their keys in a checkpoint of objects; undefined for one by names. */
export async function namesInObjectCheckpoint(prefix: string): Promise<Map<string, string> | undefined> {
  const reader = openCheckpoint(prefix);
  try {
    if (!reader.has(objectGraphKey)) return undefined;
    const [bytes] = (await reader.read(objectGraphKey)).objects as Uint8Array[]; // a string tensor holds bytes
    const { nodes } = TrackableObjectGraph.decode(bytes!);
    return new Map(nodes.flatMap((node) => node.attributes.map((a) => [a.full_name, a.checkpoint_key] as const)));
  } finally {
    await reader.close();
  }
}
