import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import * as tf from 'tensorloom';
import { expect, it } from 'vitest';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const number = /-?\d+\.?\d*(?:e[-+]\d+)?/g;
const frame = (text: string) => text.replace(number, '#').replace(/\s+/g, ' ').trim();

it("The README's program prints what the README says", async () => {
  const [, program, said] = /```ts\n([\s\S]*?)```\s*```\n([\s\S]*?)```/.exec(readme)!;
  const lines: string[] = [];
  const console = { log: (value: unknown) => lines.push(inspect(value)) };
  const body = program!
    .replace(/^import .*$/m, '')
    .replace(/^/, 'return (async () => {')
    .concat('})();');
  await new tf.Graph().asDefault(() => new Function('tf', 'console', body)(tf, console) as Promise<void>);
  const printed = lines.join('\n');
  expect(frame(printed)).toBe(frame(said!));
  // Another processor may round the last digits otherwise.
  const wanted = said!.match(number)!.map(Number);
  for (const [i, text] of printed.match(number)!.entries()) expect(Number(text)).toBeCloseTo(wanted[i]!, 4);
});
