/** @file Compares every op case with real TensorFlow: `npm run differential [-- OP …]`. `FINDINGS=file.md` writes the findings. */
import { mkdirSync } from 'node:fs';
import { findTensorFlow, runPython } from '../tensorflow.ts';
import { exportCases } from './exportCases.ts';

const found = findTensorFlow();
if ('reason' in found) console.log(`differential: skipped, ${found.reason}`);
else {
  mkdirSync('build/differential', { recursive: true });
  const file = 'build/differential/cases.jsonl';
  console.log(`${await exportCases(file, process.argv.slice(2))} graphs exported`);
  const findings = process.env['FINDINGS'];
  process.exitCode = runPython(found.python, 'tools/differential/compare.py', findings ? [file, findings] : [file]);
}
