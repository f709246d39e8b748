import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { alias: { tensorloom: new URL('./src/api/index.ts', import.meta.url).pathname } },
  esbuild: { target: 'es2022' },
  test: { include: ['test/**/*.test.ts'], testTimeout: 60_000 },
});
