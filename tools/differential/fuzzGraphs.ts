/**
 * @file Random graphs give the same on the reference device, on the cpu device with the simplifier, and in real TensorFlow:
 * `npm run fuzz:graphs [-- COUNT [FIRST]]`. `FINDINGS=file.md` writes the findings.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { findTensorFlow, runPython, withTemporaryFolder } from '../tensorflow.ts';
import { examine } from './examineGraph.ts';

/** Writes the records of some seeds to a file; gives the problems between our own devices. */
async function examineAll(file: string, first: number, count: number): Promise<string[]> {
  const out = openSync(file, 'w');
  const problems: string[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const found = await examine(seed);
    problems.push(...found.problems);
    writeSync(out, `${JSON.stringify(found.record)}\n`);
  }
  closeSync(out);
  return problems;
}

const [, , count = '1000', first = '1'] = process.argv;
await withTemporaryFolder(async (folder) => {
  const file = join(folder, 'fuzz.jsonl');
  const problems = await examineAll(file, Number(first), Number(count));
  for (const line of problems) console.log(line);
  console.log(`${count} random graphs, ${problems.length} problems between our devices`);
  process.exitCode = problems.length > 0 ? 1 : 0;
  const found = findTensorFlow();
  if ('reason' in found) {
    console.log(`fuzz: not compared with TensorFlow, ${found.reason}`);
    return;
  }
  const findings = process.env['FINDINGS'];
  const args = findings ? [file, findings] : [file];
  if (runPython(found.python, 'tools/differential/compare.py', args) !== 0) process.exitCode = 1;
});
