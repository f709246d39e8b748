/** @file Whole files read and written in the graph, and files found by a pattern. */
import { writeFile as writeBytes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { type Shape, showRuntime } from '../../core/shape.ts';
import type { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import type { Tensor, TensorLike } from '../../graph/tensor.ts';
import { fileError } from '../../io/fileErrors.ts';
import { makeFolders } from '../../io/folders.ts';
import { matchingPaths } from '../../io/glob.ts';
import { localPath } from '../../io/paths.ts';
import { wholeFile } from '../../io/wholeFile.ts';
import { defineOp, gradientPending } from '../../op/defineOp.ts';
import { ofRank } from '../array/common.ts';
import { bytesOf, stringArray, toBytes, toText } from '../string/text.ts';

const none = gradientPending('TensorFlow has none');

function checkScalar(shape: Shape, what: string): void {
  if (shape.length > 0) {
    throw new InvalidArgumentError(`${what} tensor must be scalar, but had shape: ${showRuntime(shape)}`);
  }
}

export const ReadFile = defineOp({
  name: 'ReadFile',
  inputs: { filename: 'string' },
  outputs: { contents: 'string' },
  attrs: {},
  shape({ filename }) {
    ofRank(filename, 0, 'filename');
    return { contents: [] };
  },
  grad: none,
  lower(p, { filename }) {
    checkScalar(filename.shape, 'Input filename');
    const [contents] = p.host([filename], [{ dtype: string, shape: [] }], async ([name]) => {
      return [stringArray([], [await wholeFile(toText(bytesOf(name!)[0]!))])];
    });
    return { contents: contents! };
  },
  cases: () => [
    { shape: '[] -> []' },
    { shape: '[2]', rejects: /filename/ },
    { given: { filename: '/dev/null' }, expect: { contents: '' } },
    { given: { filename: '/no/such/file' }, fails: /\/no\/such\/file; No such file or directory/ },
  ],
});

export const WriteFile = defineOp({
  name: 'WriteFile',
  inputs: { filename: 'string', contents: 'string' },
  outputs: {},
  attrs: {},
  stateful: true,
  shape({ filename, contents }) {
    ofRank(filename, 0, 'filename');
    ofRank(contents, 0, 'contents');
    return {};
  },
  grad: none,
  lower(p, { filename, contents }) {
    checkScalar(filename.shape, 'Input filename');
    checkScalar(contents.shape, 'Contents');
    p.host([filename, contents], [], async ([name, content]) => {
      const path = toText(bytesOf(name!)[0]!);
      try {
        const local = localPath(path);
        await makeFolders(dirname(local));
        await writeBytes(local, bytesOf(content!)[0]!);
      } catch (error) {
        throw fileError(error, path);
      }
      return [];
    });
    return {};
  },
  cases: () => [{ shape: '[], [] ->' }, { shape: '[], [1]', rejects: /contents/ }],
});

export const MatchingFiles = defineOp({
  name: 'MatchingFiles',
  inputs: { pattern: 'string' },
  outputs: { filenames: 'string' },
  attrs: {},
  shape({ pattern }) {
    if (pattern !== null && pattern.length > 1) {
      throw new InvalidArgumentError(`pattern has rank ${pattern.length}; it must be a scalar or a vector.`);
    }
    return { filenames: [null] };
  },
  grad: none,
  lower(p, { pattern }) {
    if (pattern.shape.length > 1) {
      throw new InvalidArgumentError(
        `Input patterns tensor must be scalar or vector, but had shape: ${showRuntime(pattern.shape)}`,
      );
    }
    const [filenames] = p.host([pattern], [{ dtype: string }], ([patterns]) => {
      const paths = bytesOf(patterns!).flatMap((bytes) => matchingPaths(toText(bytes)));
      const names = paths.map(toBytes).sort(Buffer.compare);
      return [stringArray([names.length], names)];
    });
    return { filenames: filenames! };
  },
  cases: () => [
    { shape: '[] -> [?]' },
    { shape: '[3] -> [?]' },
    { shape: '[2, 2]', rejects: /scalar or a vector/ },
    { given: { pattern: '/dev/nul?' }, expect: { filenames: ['/dev/null'] } },
    { given: { pattern: ['/dev/zer[m-p]', '/dev/nul[!a-k]'] }, expect: { filenames: ['/dev/null', '/dev/zero'] } },
    { given: { pattern: '/no/such/*' }, expect: { filenames: { dtype: 'string', value: [], shape: [0] } } },
  ],
});

/** The bytes of a file. Adds one `ReadFile` node. */
export function readFile(filename: TensorLike, options: { readonly name?: string | undefined } = {}): Tensor {
  return ReadFile.build({ filename }, onlyOptions('tf.readFile', options, 'name')).contents;
}

/** Writes a file, and makes the folders around it. Adds one `WriteFile` node. */
export function writeFile(
  filename: TensorLike,
  contents: TensorLike,
  options: { readonly name?: string | undefined } = {},
): Operation {
  return WriteFile.node({ filename, contents }, onlyOptions('tf.writeFile', options, 'name'));
}

/**
 * The names of the files that match a pattern, or any of several, in order. Adds one `MatchingFiles` node.
 *
 * @example tf.matchingFiles('/dev/nul?') // runs to [b'/dev/null']
 */
export function matchingFiles(pattern: TensorLike, options: { readonly name?: string | undefined } = {}): Tensor {
  return MatchingFiles.build({ pattern }, onlyOptions('tf.matchingFiles', options, 'name')).filenames;
}
