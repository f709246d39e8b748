/** @file Graphs as files: `.pb` and `.pbtxt`, written whole or not at all. */
import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DataLossError, NotFoundError } from '../../core/errors.ts';
import { inTurns } from '../../core/eventLoop.ts';
import { Graph } from '../../graph/graph.ts';
import { onlyOptions } from '../../graph/options.ts';
import { fileError, makeFolderNow, wholeFileError } from '../../io/fileErrors.ts';
import { joinPath, localPath } from '../../io/paths.ts';
import { writeWholeFile } from '../../io/wholeFile.ts';
import { GraphDef } from '../../proto/graph.ts';
import type { Init, Message } from '../../proto/message.ts';
import { parseText, printText } from '../../proto/textFormat.ts';

/** Writes a file that is there as a whole or, whatever happens, as it was before. */
export function writeWhole(path: string, content: string | Uint8Array): void {
  const local = localPath(path);
  const temporary = `${local}.tmp${randomBytes(8).toString('hex')}`;
  makeFolderNow(dirname(local));
  try {
    writeFileSync(temporary, content, { flush: true });
    renameSync(temporary, local);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw wholeFileError(error, path);
  }
}

/** A message as text or as bytes in a file. */
export function writeMessage<T>(path: string, type: Message<T>, value: Init<T>, asText: boolean): void {
  writeWhole(path, asText ? printText(type, value) : type.encode(value));
}

/** The same as bytes, beside the event loop. */
export async function writeMessageInTurns<T>(path: string, type: Message<T>, value: Init<T>): Promise<void> {
  await writeWholeFile(path, await inTurns(type.encodeInPieces(value)));
}

/** A message from a file of bytes or of text. */
export function readMessage<T>(path: string, type: Message<T>): T {
  let content: Uint8Array;
  try {
    content = readFileSync(localPath(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw fileError(error, path); // fs errors have codes
    throw new NotFoundError(`File ${path} does not exist.`);
  }
  try {
    return type.decode(content);
  } catch (binary) {
    if (!(binary instanceof DataLossError)) throw binary;
    try {
      return parseText(type, new TextDecoder('utf-8', { fatal: true }).decode(content));
    } catch (text) {
      const why = text instanceof Error ? text.message : String(text);
      throw new DataLossError(`Cannot parse file ${path}: as bytes, ${binary.message}; as text, ${why}`);
    }
  }
}

/**
 * Writes a graph to `folder/name`, as text unless told otherwise; gives the path.
 *
 * @example tf.train.writeGraph(sess.graph, 'run1', 'train.pbtxt') // 'run1/train.pbtxt'
 */
export function writeGraph(
  graphOrDef: Graph | GraphDef,
  folder: string,
  name: string,
  options: { readonly asText?: boolean } = {},
): string {
  const { asText = true } = onlyOptions('tf.train.writeGraph', options, 'asText');
  const def = graphOrDef instanceof Graph ? graphOrDef.asGraphDef() : graphOrDef;
  const path = joinPath(folder, name);
  writeMessage(path, GraphDef, def, asText);
  return path;
}
