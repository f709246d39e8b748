import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { alias: { tensorloom: new URL('./src/api/index.ts', import.meta.url).pathname } },
  test: { include: ['test/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
});
