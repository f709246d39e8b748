/** @file Writes docs/support.md: every op, its types and its gradient, read off the registry. */
import { writeFileSync } from 'node:fs';
import { registry } from '../src/op/registry.ts';
import '../src/ops/index.ts';

const rows = [...registry.values()]
  .sort((a, b) => a.name.localeCompare(b.name, 'en'))
  .map((op) => {
    const types = Object.entries(op.attrSpecs)
      .filter(([, spec]) => spec.kind === 'type' || spec.kind === 'list(type)')
      .map(([name, spec]) => `${name}: ${spec.allowed?.map((d) => d.name).join(' ') ?? 'any'}`);
    const gradient =
      op.gradient === 'none'
        ? 'none, as in TensorFlow'
        : typeof op.gradient === 'function'
          ? 'yes'
          : `not yet: ${op.gradient.pending}`;
    return `| ${op.name} | ${types.join('; ') || '–'} | ${gradient} |`;
  });
const page = `# Supported ops

${rows.length} ops. Each runs on every device; \`npm run support\` writes this page from the registry.

| op | types | gradient |
|---|---|---|
${rows.join('\n')}
`;
writeFileSync('docs/support.md', page);
console.log(`docs/support.md: ${rows.length} ops`);
