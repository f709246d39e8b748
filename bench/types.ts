/** @file How long the compiler takes for a model of 200 ops whose shapes flow through the types, against an empty program; `--json` for numbers only. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Twenty blocks of ten ops; each block's shapes depend on the one before it. */
function model(blocks: number): string {
  const lines = ["import * as tf from 'tensorloom';", 'const x0 = tf.placeholder(tf.float32, [null, 64]);'];
  for (let i = 0; i < blocks; i++)
    lines.push(
      `const w${i} = tf.zeros([64, 64]);`,
      `const a${i} = x${i}.matmul(w${i});`,
      `const b${i} = tf.add(a${i}, tf.ones([64]));`,
      `const c${i} = tf.nn.relu(b${i}).mul(2);`,
      `const d${i} = tf.reshape(c${i}, [-1, 8, 8]);`,
      `const e${i} = d${i}.transpose([0, 2, 1]);`,
      `const f${i} = e${i}.reduceSum(1, { keepdims: true });`,
      `const g${i} = tf.expandDims(tf.squeeze(f${i}, { axis: 1 }), -1);`,
      `const h${i} = tf.concat([g${i}, g${i}], 2);`,
      `const x${i + 1} = tf.reshape(tf.sub(tf.reshape(c${i}, [-1, 64]), tf.reduceMean(h${i})), [-1, 64]);`,
    );
  return [...lines, `export const out: tf.Tensor<typeof tf.float32, readonly [null, 64]> = x${blocks};`].join('\n');
}

function seconds(source: string): number {
  const folder = mkdtempSync(join(process.cwd(), 'build/types-'));
  try {
    writeFileSync(join(folder, 'model.ts'), source);
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../../tsconfig.json', compilerOptions: { rootDir: '../..' }, include: ['model.ts'] }),
    );
    const start = process.hrtime.bigint();
    execFileSync('npx', ['tsc', '-p', folder], { stdio: 'inherit' });
    return Number(process.hrtime.bigint() - start) / 1e9;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const rounds = Array.from({ length: 3 }, (_, i) => {
  process.stderr.write(`round ${i + 1} of 3 …\n`);
  return [seconds("import 'tensorloom';"), seconds(model(20))] as const;
});
const best = (column: 0 | 1) => Math.min(...rounds.map((r) => r[column]));
const [library, whole] = [best(0), best(1)];
if (process.argv.includes('--json')) console.log(JSON.stringify({ library, whole }));
else
  console.log(
    `the library alone ${library.toFixed(2)} s, with a model of 200 ops ${whole.toFixed(2)} s: ${(whole - library).toFixed(2)} s for the model`,
  );
