/** Checks that folders import only the folders below them, as docs/architecture.md promises. Prints what breaks the rule. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const allowed = {
  core: [],
  proto: ['core'],
  graph: ['core', 'proto'],
  program: ['core'],
  op: ['core', 'proto', 'graph', 'program'],
  ops: ['core', 'proto', 'graph', 'op', 'program', 'io'],
  autodiff: ['core', 'proto', 'graph', 'op', 'ops'],
  io: ['core', 'proto'],
  app: ['core', 'io'],
  front: ['core', 'proto', 'graph', 'op', 'ops', 'autodiff', 'io'],
  devices: ['core', 'program'],
  runtime: ['core', 'proto', 'graph', 'op', 'program', 'devices'],
  cluster: ['core', 'proto', 'graph', 'runtime'],
  api: ['core', 'app', 'proto', 'graph', 'op', 'ops', 'autodiff', 'io', 'front', 'runtime', 'cluster'],
  cli: ['core', 'api', 'autodiff', 'cluster', 'ops', 'runtime'],
};

const src = resolve(dirname(fileURLToPath(import.meta.url)), '../src');
const broken = [];
for (const entry of readdirSync(src, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
  const file = join(entry.parentPath ?? entry.path, entry.name);
  const folder = relative(src, file).split('/')[0];
  for (const [, target] of readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
    const other = relative(src, resolve(dirname(file), target)).split('/')[0];
    if (other === folder || allowed[folder]?.includes(other)) continue;
    broken.push(`${relative(src, file)} imports ${target}: '${folder}' may not use '${other}'`);
  }
}
for (const line of broken) console.error(line);
console.log(broken.length === 0 ? 'layers hold' : `${broken.length} imports break the layers`);
process.exit(broken.length === 0 ? 0 : 1);
