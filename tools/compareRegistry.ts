/**
 * @file Lists every difference between our op registry and TensorFlow's; `--update` also rewrites the golden copy that the
 * tests compare with. Without TensorFlow it compares with the golden copy.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import '../src/ops/index.ts';
import { registry } from '../src/op/registry.ts';
import { OpList } from '../src/proto/opDef.ts';
import { registryDifferences } from './opDefs.ts';
import { findTensorFlow, runPython, withTemporaryFolder } from './tensorflow.ts';

const golden = 'test/golden/opDefs.pb.gz';

/** The op list of the installed TensorFlow, or the golden copy where there is none. */
async function theirOps(): Promise<OpList> {
  const found = findTensorFlow();
  if ('reason' in found) {
    console.log(`${found.reason}; comparing with ${golden}`);
    return OpList.decode(gunzipSync(readFileSync(golden)));
  }
  return withTemporaryFolder((folder) => {
    const file = join(folder, 'ops.pb');
    if (runPython(found.python, 'tools/golden/opDefs.py', [file]) !== 0)
      throw new Error('tools/golden/opDefs.py failed');
    return OpList.decode(readFileSync(file));
  });
}

const theirs = await theirOps();
if (process.argv.includes('--update')) {
  writeFileSync(golden, gzipSync(OpList.encode(theirs), { level: 9 }));
  console.log(`${golden}: ${theirs.op.length} ops`);
}
const differences = registryDifferences(registry.values(), theirs.op);
for (const line of differences) console.log(line);
console.log(`${registry.size} ops, ${differences.length} differences`);
process.exitCode = differences.length > 0 ? 1 : 0;
