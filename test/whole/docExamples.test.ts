/** @file Every documented example that says what it runs to does run to that. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as tf from 'tensorloom';
import { describe, expect, it } from 'vitest';

interface Example {
  readonly place: string;
  readonly code: string;
  readonly result: string;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const folders = ['src/ops', 'src/front', 'src/autodiff'];

/** One line: `@example code // runs to result`. The result may be followed by words. */
const pattern = /@example (.+?) \/\/ runs to (.+?)(?: \*\/)?$/;

function examplesIn(folder: string): Example[] {
  const files = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return files
    .filter((f) => f.isFile() && f.name.endsWith('.ts'))
    .map((f) => join(f.parentPath, f.name))
    .sort()
    .flatMap((path) =>
      readFileSync(path, 'utf8')
        .split('\n')
        .flatMap((line, i) => {
          const match = pattern.exec(line);
          return match ? [{ place: `${relative(root, path)}:${i + 1}`, code: match[1]!, result: match[2]! }] : [];
        }),
    );
}

/** The value of an expression that uses nothing but `tf`. */
function evaluate(code: string): unknown {
  return new Function('tf', `return (${code});`)(tf);
}

/** What a user sees when the example's value is run and printed: lists as `[a, b]`, arrays as numpy prints them. */
async function shown(value: unknown, sess: tf.Session): Promise<string> {
  if (Array.isArray(value)) {
    const items: string[] = [];
    for (const item of value) items.push(await shown(item, sess));
    return `[${items.join(', ')}]`;
  }
  return String(await sess.run(value as tf.Tensor)); // examples give tensors or lists of them
}

const tokensOf = (text: string) => text.match(/-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)j?|[A-Za-z']+|[^\s]/gi) ?? [];

/** Equal, or floats that differ only in the last digits, which devices may round differently. */
function sameToken(actual: string, wanted: string | undefined): boolean {
  if (actual === wanted) return true;
  if (wanted === undefined || !/[.e]/.test(actual) || !/[.e]/.test(wanted)) return false;
  const [a, w] = [Number.parseFloat(actual), Number.parseFloat(wanted)];
  return Math.abs(a - w) <= 2e-6 * Math.max(Math.abs(w), 1e-3);
}

function agrees(actual: string, wanted: string): boolean {
  const [a, w] = [tokensOf(actual), tokensOf(wanted)];
  // What follows the result in the documentation is prose, which begins with a word or a comma.
  return (
    a.every((token, i) => sameToken(token, w[i])) &&
    /^[a-z,(]?/i.test(w[a.length] ?? '') &&
    !/^\d/.test(w[a.length] ?? '')
  );
}

describe('documented examples', () => {
  const examples = folders.flatMap(examplesIn);
  it('are there', () => expect(examples.length).toBeGreaterThan(200));
  for (const { place, code, result } of examples)
    it(`${place} ${code}`, () =>
      new tf.Graph().asDefault(async () => {
        const sess = new tf.Session();
        const actual = await shown(evaluate(code), sess);
        await sess.close();
        if (!agrees(actual, result)) expect(actual.replace(/\s+/g, ' ')).toBe(result);
      }));
});
