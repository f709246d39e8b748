/** @file InitializeTableFromTextFile: a table from the lines of a file. */
import { readFile } from 'node:fs/promises';
import { type DType, int64, string } from '../../core/dtypes.ts';
import { InvalidArgumentError } from '../../core/errors.ts';
import { NDArray } from '../../core/ndarray.ts';
import { fileError } from '../../io/fileErrors.ts';
import { localPath } from '../../io/paths.ts';
import { attr } from '../../op/attrs.ts';
import { defineOp, notDifferentiable } from '../../op/defineOp.ts';
import { byReference, byResource, type Form, objectAt } from '../queue/handles.ts';
import { LookupTable } from './table.ts';

const wholeLine = -2;
const lineNumber = -1;

interface Columns {
  readonly key_index: number;
  readonly value_index: number;
  readonly vocab_size: number;
  readonly delimiter: string;
  readonly offset: number;
}

function column(lines: readonly string[], index: number, dtype: DType, { delimiter, offset }: Columns): NDArray {
  const shape = [lines.length];
  if (index === lineNumber) {
    if (dtype !== int64)
      throw new InvalidArgumentError(`Line numbers are int64, but the table has ${dtype.runtimeName}`);
    return new NDArray(
      int64,
      shape,
      BigInt64Array.from(lines, (_, i) => BigInt(i + offset)),
    );
  }
  const cells = lines.map((line, i) => {
    if (index === wholeLine) return line;
    const cell = line.split(delimiter)[index];
    if (cell === undefined)
      throw new InvalidArgumentError(
        `Invalid number of columns in line ${i} (${line}): expected at least ${index + 1}, got ${line.split(delimiter).length}`,
      );
    return cell;
  });
  if (dtype === string)
    return new NDArray(
      string,
      shape,
      cells.map((cell) => Buffer.from(cell, 'latin1')),
    );
  const result = new NDArray(dtype, shape, dtype.allocate(lines.length));
  for (const [i, cell] of cells.entries()) {
    const isWhole = dtype.isInteger;
    if (!(isWhole ? /^\s*[+-]?\d+\s*$/ : /^\s*[+-]?(\d|\.\d|inf|nan)/i).test(cell))
      throw new InvalidArgumentError(`Field ${cell} in line ${i} is not a valid ${dtype.runtimeName}.`);
    Reflect.set(
      result.data,
      i,
      dtype.storage === 'i64' || dtype.storage === 'u64' ? BigInt(cell.trim()) : Number(cell),
    );
  }
  return result;
}

async function linesOf(path: string, vocabularySize: number): Promise<string[]> {
  const content = await readFile(localPath(path), 'latin1').catch((error: unknown) => {
    throw fileError(error, path);
  });
  const lines = content.split('\n');
  if (lines.at(-1) === '') lines.pop();
  if (vocabularySize > lines.length)
    throw new InvalidArgumentError(`Invalid vocab_size in ${path}: expected ${vocabularySize} but got ${lines.length}`);
  return vocabularySize > 0 ? lines.slice(0, vocabularySize) : lines;
}

function initialize({ suffix, port, stateful, handleCase }: Form): void {
  defineOp({
    name: `InitializeTableFromTextFile${suffix}`,
    inputs: { table_handle: port, filename: 'string' },
    outputs: {},
    attrs: {
      key_index: attr('int', { minimum: -2 }),
      value_index: attr('int', { minimum: -2 }),
      vocab_size: attr('int', { default: -1, minimum: -1 }),
      delimiter: attr('string', { default: '\t' }),
      offset: attr('int', { default: 0 }),
    },
    stateful,
    shape: () => ({}),
    grad: notDifferentiable,
    lower(p, { table_handle, filename }, attrs) {
      p.host([table_handle, filename], [], async ([at, name]) => {
        const table = objectAt(at!, LookupTable);
        const path = new TextDecoder().decode(name!.objects[0] as Uint8Array); // a string tensor holds bytes
        const lines = await linesOf(path, attrs.vocab_size);
        const { keyType, valueType } = table.spec;
        const keys = column(lines, attrs.key_index, keyType, attrs);
        const values = column(lines, attrs.value_index, valueType, attrs);
        await table.line.run(() => table.initialize(keys, values));
        return [];
      });
      return {};
    },
    cases: () => [{ shape: `${handleCase}, [] ->`, attrs: { key_index: -2, value_index: -1 } }],
  });
}
initialize(byResource);
initialize(byReference);
