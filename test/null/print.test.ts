import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type DTypeName, dtypeFromName } from '../../src/core/dtypes.ts';
import { type Element, fromElements } from '../../src/core/ndarray.ts';

type Stored = number | string | boolean | [number | string, number | string] | number[];
interface Row {
  readonly dtype: DTypeName;
  readonly shape: number[];
  readonly values: Stored[];
  readonly text: string;
}
const path = new URL('../golden/print.json', import.meta.url);
const rows = JSON.parse(readFileSync(path, 'utf8')) as Row[]; // as tools/golden/print.py writes it

const toNumber = (x: number | string) => (x === 'inf' ? Infinity : x === '-inf' ? -Infinity : Number(x));
function element(value: Stored, dtype: DTypeName): Element {
  if (Array.isArray(value))
    return dtype === 'string'
      ? Uint8Array.from(value as number[]) // the bytes of a text
      : { re: toNumber(value[0]!), im: toNumber(value[1]!) };
  return typeof value === 'boolean' ? value : toNumber(value);
}

it.each(rows)('$dtype $shape prints as in NumPy', ({ dtype, shape, values, text }) => {
  const array = fromElements(
    dtypeFromName(dtype)!,
    shape,
    values.map((v) => element(v, dtype)),
  );
  expect(String(array)).toBe(text);
});
