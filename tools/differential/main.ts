/** @file Compares every op case with real TensorFlow: `npm run differential [-- OP …]`. `FINDINGS=file.md` writes the findings. */
import { join } from 'node:path';
import { findTensorFlow, runPython, withTemporaryFolder } from '../tensorflow.ts';
import { exportCases } from './exportCases.ts';

const found = findTensorFlow();
if ('reason' in found) console.log(`differential: skipped, ${found.reason}`);
else
  await withTemporaryFolder(async (folder) => {
    const file = join(folder, 'cases.jsonl');
    console.log(`${await exportCases(file, process.argv.slice(2))} graphs exported`);
    const findings = process.env['FINDINGS'];
    process.exitCode = runPython(found.python, 'tools/differential/compare.py', findings ? [file, findings] : [file]);
  });
