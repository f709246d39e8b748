/**
 * @file Joins the library into a few files under dist/src/bundle, for what a program that imports it waits for is mostly the
 * finding and opening of its files. They lie in dist/src, for `graph/callSite.ts` counts as the library's own what is there.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = new URL('..', import.meta.url);
const { dependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));

await build({
  cwd: fileURLToPath(root),
  input: { index: 'dist/src/api/index.js', main: 'dist/src/cli/main.js' },
  platform: 'node',
  external: Object.keys(dependencies),
  // Modules are kept whole: ops register themselves, and methods are put on classes, when their modules are evaluated.
  treeshake: false,
  output: {
    dir: 'dist/src/bundle',
    sourcemap: true,
    sourcemapExcludeSources: true,
    cleanDir: true,
    chunkFileNames: '[name].js',
  },
  logLevel: 'warn',
});
