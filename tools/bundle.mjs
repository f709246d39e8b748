/**
 * @file Joins the library into a few files under dist/src/bundle, for what a program that imports it waits for is mostly the
 * finding and opening of its files. They lie in dist/src, for `graph/callSite.ts` counts as the library's own what is there.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = new URL('..', import.meta.url);
const { dependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));

/** The licences of the packages that are joined in with the library: they go where the code goes. */
function licences({ moduleIds }) {
  const folders = moduleIds.flatMap((id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id) ?? []);
  const texts = [...new Set(folders)].map((folder) => readFileSync(join(folder, 'LICENSE'), 'utf8').trim());
  return texts.map((text) => `/*\n${text}\n*/`).join('\n');
}

await build({
  cwd: fileURLToPath(root),
  input: { index: 'dist/src/api/index.js', main: 'dist/src/cli/main.js' },
  platform: 'node',
  external: Object.keys(dependencies),
  // Modules are kept whole: ops register themselves, and methods are put on classes, when their modules are evaluated.
  treeshake: false,
  output: {
    dir: 'dist/src/bundle',
    banner: licences,
    sourcemap: true,
    sourcemapExcludeSources: true,
    cleanDir: true,
    chunkFileNames: '[name].js',
  },
  logLevel: 'warn',
});
