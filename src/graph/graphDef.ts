/** @file GraphDef as users meet it: bytes and text to records and back. */
import { GraphDef as GraphDefMessage } from '../proto/graph.ts';
import type { Init } from '../proto/message.ts';
import { parseText, printText } from '../proto/textFormat.ts';

export type GraphDef = GraphDefMessage;

/**
 * A graph as TensorFlow stores it.
 *
 * @example tf.GraphDef.decode(fs.readFileSync('graph.pb')).node.length
 */
export const GraphDef = {
  /** The bytes of a `.pb` file. */
  encode: (def: Init<GraphDefMessage>): Uint8Array => GraphDefMessage.encode(def),
  decode: (bytes: Uint8Array): GraphDefMessage => GraphDefMessage.decode(bytes),
  /** The text of a `.pbtxt` file. */
  printText: (def: Init<GraphDefMessage>): string => printText(GraphDefMessage, def),
  parseText: (text: string): GraphDefMessage => parseText(GraphDefMessage, text),
};
