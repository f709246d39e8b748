/** @file `tensorloom checkpoint`: what is in a checkpoint or SavedModel, and how two of them differ. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseSavedModel } from '../api/savedModelLoader.ts';
import { CheckpointReader, checkpointExists, latestCheckpoint } from '../api/train.ts';
import { dtypeFromNumber } from '../core/dtypes.ts';
import { NotFoundError } from '../core/errors.ts';
import type { NDArray } from '../core/ndarray.ts';
import { differenceOf, type Statistics, statisticsOf } from './statistics.ts';

export interface CheckpointOptions {
  /** Prints the values of this tensor, or compares only it. */
  readonly tensor?: string | undefined;
  /** False leaves out what needs all values to be read. */
  readonly statistics?: boolean | undefined;
  readonly json?: boolean | undefined;
}

type Print = (line: string) => void;

/** The checkpoint that a path means: itself, a file of it, the latest of a folder, or the variables of a SavedModel. */
export function findCheckpoint(path: string): string {
  // Files of a checkpoint mean all of it; a file without such an ending may be a checkpoint of the old format.
  const withoutEnding = path.replace(/\.(index|meta|data-\d{5}-of-\d{5})$/, '');
  for (const name of [withoutEnding, path]) if (checkpointExists(name)) return name;
  const variables = join(path, 'variables', 'variables');
  if (checkpointExists(variables)) return variables;
  const latest = existsSync(path) ? latestCheckpoint(path) : null;
  if (latest !== null) return latest;
  throw new NotFoundError(
    `There is no checkpoint at ${path}. Give the name without its ending, as in run1/model-100, a folder with a 'checkpoint' file, or a SavedModel.`,
  );
}

/** Prints what is in a checkpoint, or the differences of two; true when there is nothing to complain of. */
export async function checkpoint(
  path: string,
  other: string | undefined,
  options: CheckpointOptions,
  print: Print,
): Promise<boolean> {
  const prefix = findCheckpoint(path);
  await using reader = CheckpointReader.open(prefix);
  if (options.tensor !== undefined && other === undefined) {
    print(String(await reader.getTensor(options.tensor)));
    return true;
  }
  if (other === undefined) {
    const rows = await describe(reader, options.statistics ?? true);
    if (options.json) print(JSON.stringify({ checkpoint: prefix, tensors: rows }, null, 2));
    else list(path, prefix, rows, print);
    return true;
  }
  const otherPrefix = findCheckpoint(other);
  await using otherReader = CheckpointReader.open(otherPrefix);
  return await compare({ prefix, reader }, { prefix: otherPrefix, reader: otherReader }, options, print);
}

interface Row {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly elements: number;
  /** Undefined for strings that were not read. */
  readonly bytes: number | undefined;
  readonly statistics?: Statistics;
}

const bytesOf = (array: NDArray) =>
  array.dtype.isObject
    ? array.objects.reduce((sum, x) => sum + (x as Uint8Array).length, 0) // checkpoints hold no objects but strings
    : array.bytes.length;

async function describe(reader: CheckpointReader, withStatistics: boolean): Promise<Row[]> {
  const shapes = reader.getVariableToShapeMap();
  const dtypes = reader.getVariableToDtypeMap();
  const rows: Row[] = [];
  for (const [name, shape] of Object.entries(shapes)) {
    const dtype = dtypes[name]!;
    const elements = shape.reduce((product, d) => product * d, 1);
    // One tensor at a time is in memory.
    const array = withStatistics ? await reader.getTensor(name) : undefined;
    const bytes = array ? bytesOf(array) : dtype.isObject ? undefined : elements * dtype.size;
    const statistics = array && statisticsOf(array);
    rows.push({ name, dtype: dtype.name, shape, elements, bytes, ...(statistics && { statistics }) });
  }
  return rows;
}

function list(path: string, prefix: string, rows: readonly Row[], print: Print): void {
  const numbers = rows.some((row) => row.statistics);
  const head = ['name', 'dtype', 'shape', ...(numbers ? ['min', 'max', 'mean', 'std', 'zeros', ''] : [])];
  const lines = rows.map(({ name, dtype, shape, statistics: s }) => [
    name,
    dtype,
    `[${shape.join(', ')}]`,
    ...(s ? [s.min, s.max, s.mean, s.deviation].map(short) : numbers ? ['', '', '', ''] : []),
    ...(s ? [percent(s.zeros, s.numbers), s.notFinite > 0 ? `${s.notFinite} NaN or infinite` : ''] : []),
  ]);
  print(prefix);
  table([head, ...lines], 3).forEach((line) => {
    print(line);
  });
  const elements = rows.reduce((sum, row) => sum + row.elements, 0);
  const bytes = rows.reduce((sum, row) => sum + (row.bytes ?? 0), 0);
  const strings = rows.some((row) => row.bytes === undefined) ? ' and strings' : '';
  print(`${rows.length} tensors, ${elements.toLocaleString('en')} elements, ${size(bytes)}${strings}`);
  if (existsSync(join(path, 'saved_model.pb')) || existsSync(join(path, 'saved_model.pbtxt'))) signatures(path, print);
}

/** What a SavedModel offers: its graphs by their tags, with their signatures. */
function signatures(path: string, print: Print): void {
  for (const { meta_info_def, signature_def, graph_def } of parseSavedModel(path).meta_graphs) {
    print(`\ngraph [${meta_info_def?.tags.join(', ')}], ${graph_def?.node.length ?? 0} nodes`);
    for (const [key, { inputs, outputs, method_name }] of Object.entries(signature_def)) {
      print(`  ${key}${method_name ? `  (${method_name})` : ''}`);
      for (const [what, infos] of [['in ', inputs], ['out', outputs]] as const) // biome-ignore format: a table
        for (const [name, { dtype, tensor_shape, name: tensor }] of Object.entries(infos)) {
          const dims = tensor_shape?.unknown_rank
            ? '?'
            : (tensor_shape?.dim ?? []).map((d) => (d.size < 0 ? '?' : d.size));
          print(
            `    ${what} ${name}: ${dtypeFromNumber(dtype)?.name ?? 'operation'} [${String(dims).replaceAll(',', ', ')}]  ${tensor ?? 'sparse'}`,
          );
        }
    }
  }
}

interface Side {
  readonly prefix: string;
  readonly reader: CheckpointReader;
}

async function compare(
  a: Side,
  b: Side,
  { json, statistics = true, tensor }: CheckpointOptions,
  print: Print,
): Promise<boolean> {
  const [shapesA, shapesB] = [a.reader.getVariableToShapeMap(), b.reader.getVariableToShapeMap()];
  const [typesA, typesB] = [a.reader.getVariableToDtypeMap(), b.reader.getVariableToDtypeMap()];
  const all = [...new Set([...Object.keys(shapesA), ...Object.keys(shapesB)])].sort();
  if (tensor !== undefined && !all.includes(tensor))
    throw new NotFoundError(
      `Neither has a tensor '${tensor}'. There are ${all.map((name) => `'${name}'`).join(', ')}.`,
    );
  const names = tensor === undefined ? all : [tensor];
  const rows: (readonly [name: string, what: string])[] = [];
  let equal = 0;
  for (const name of names) {
    const [shapeA, shapeB] = [shapesA[name], shapesB[name]];
    if (!shapeA || !shapeB) rows.push([name, `only in the ${shapeA ? 'first' : 'second'}`]);
    else if (typesA[name] !== typesB[name]) rows.push([name, `${typesA[name]} and ${typesB[name]}`]);
    else if (String(shapeA) !== String(shapeB)) rows.push([name, `[${shapeA.join(', ')}] and [${shapeB.join(', ')}]`]);
    else if (!statistics) equal++;
    else {
      const difference = differenceOf(await a.reader.getTensor(name), await b.reader.getTensor(name));
      const elements = shapeA.reduce((product, d) => product * d, 1);
      if (difference.count === 0) equal++;
      else {
        const far = typesA[name]!.isObject
          ? ''
          : `, by at most ${short(difference.absolute)} (${short(difference.relative * 100)} %)`;
        rows.push([name, `${difference.count} of ${elements} elements differ${far}`]);
      }
    }
  }
  const differences = rows.map(([name, difference]) => ({ name, difference }));
  if (json) print(JSON.stringify({ first: a.prefix, second: b.prefix, equal, differences }, null, 2));
  else {
    print(`first   ${a.prefix}\nsecond  ${b.prefix}`);
    table(rows, 2).forEach((line) => {
      print(line);
    });
    const what = tensor === undefined ? `all ${equal} tensors are` : `'${tensor}' is`;
    const claim = statistics ? 'equal' : 'of equal types and shapes; their values were not read';
    print(rows.length === 0 ? `${what} ${claim}` : `${rows.length} differ, ${equal} are equal`);
  }
  return rows.length === 0;
}

/** Columns of equal width; from the given one on they are numbers, and stand to the right. */
function table(rows: readonly (readonly string[])[], firstNumber: number): string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, i) => (i >= firstNumber && i < 8 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd(),
  );
}

const short = (x: number): string => (Number.isInteger(x) && Math.abs(x) < 1e9 ? String(x) : x.toPrecision(4));
const percent = (part: number, whole: number): string =>
  `${((100 * part) / whole).toFixed(part === 0 || part === whole ? 0 : 1)}%`;

function size(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [bytes, 0];
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}
