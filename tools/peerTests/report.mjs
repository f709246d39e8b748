/** @file The page about TensorFlow's own tests: a table of files, and every failure with its reason. */
import { readFileSync } from 'node:fs';

/** What `npm run curves` found, to stand on the same page. */
const curves = readFileSync(new URL('../curves/figures.md', import.meta.url), 'utf8');

/** Tier-1 ops that come with later parts of the library: loops, queues, images, files … */
const laterOps =
  /^(Conv|Depthwise|MaxPool|AvgPool|FusedBatchNorm|While|StatelessWhile|If|StatelessIf|TensorList|EmptyTensorList|Optional|.*Queue|Reader|.*Reader|Parse|Decode|Encode|ReadFile|WriteFile|MatchingFiles|StringJoin|ReduceJoin|StaticRegex|Save|Restore|MergeV2|Sharded|.*Summary|.*Dataset|Iterator|MakeIterator|OneShotIterator|Resize|CropAndResize|Adjust|FFT|IFFT|Qr|ResourceConditionalAccumulator|ResourceAccumulator|PyFunc)/;

/** Which of three things a failure is: of an op that comes later, of any server, or ours. */
function classify([test, words], file, tiers, reasons) {
  const missing = /Op type not registered '([^']+)'/.exec(words)?.[1];
  const own = reasons[file]?.[test];
  if (missing === 'EagerPyFunc')
    return { kind: 'server', test, reason: `calls back into the process of the client (${missing})` };
  if (missing !== undefined && (!tiers.t1.includes(missing) || laterOps.test(missing)))
    return {
      kind: 'later',
      test,
      reason: tiers.t1.includes(missing) || /^[A-Z][A-Za-z0-9]*$/.test(missing) ? missing : 'functions',
    };
  if (own?.startsWith('server: ')) return { kind: 'server', test, reason: own.slice('server: '.length) };
  if (own?.startsWith('later: ')) return { kind: 'later', test, reason: own.slice('later: '.length) };
  return { kind: 'failed', test, reason: own ?? `not explained yet: ${words.trim()}` };
}

const percent = (part, whole) => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(1)}%`);

/** The page as Markdown. */
export function describeResults(results, tiers, reasons) {
  const rows = Object.values(results).map((record) => {
    const failures = (record.failures ?? []).map((failure) => classify(failure, record.file, tiers, reasons));
    const count = (kind) => failures.filter((f) => f.kind === kind).length;
    return { ...record, failures, later: count('later'), server: count('server'), ours: count('failed') };
  });
  const sum = (key) => rows.reduce((n, row) => n + (row[key] ?? 0), 0);
  const inScope = sum('used_a_session') - sum('later') - sum('server');
  const line = (r) =>
    `| ${r.file}${r.cut ? ' (cut)' : ''} | ${r.cases ?? r.import_error} | ${r.used_a_session ?? 0} | ${r.passed ?? 0} | ${r.ours} | ${r.later} | ${r.server} | ${r.skipped ?? 0} | ${r.seconds} |`;
  const total = {
    file: '**all**',
    cases: sum('cases'),
    used_a_session: sum('used_a_session'),
    passed: sum('passed'),
    ours: sum('ours'),
    later: sum('later'),
    server: sum('server'),
    skipped: sum('skipped'),
    seconds: Math.round(sum('seconds')),
  };
  return `# Compatibility: TensorFlow's own tests

TensorFlow's Python test files, unchanged, with every session redirected to \`tensorloom serve\`. Made by
\`node tools/peerTests/run.mjs\`; the reasons of failures are in \`tools/peerTests/reasons.json\`.

Of the ${inScope} tests that run a session and use only ops that are in scope, ${inScope - sum('ours')} pass: ${percent(inScope - sum('ours'), inScope)}.
"Later" are tests that need ops of later parts (loops, queues, functions, files …), "any server" those that a real
TensorFlow server fails too, since they expect a session in the client's own process. Tests that run no session are in the
table, but say nothing about us. The runner counts sessions per file, not per test, so every failing test is taken to have
run one. A file marked "cut" has more tests than its time allowed.

| file (tensorflow/python/…) | cases | use a session | pass | fail | later | any server | skip | s |
|---|---|---|---|---|---|---|---|---|
${rows.map(line).join('\n')}
${line(total)}

${curves}
## Failures

${section(rows, 'failed', 'None.')}

## Tests that wait for later parts

${section(rows, 'later', 'None.')}

## Tests that fail on any server

${section(rows, 'server', 'None.')}
`;
}

/** The failures of one kind: per file, tests with the same reason together. */
function section(rows, kind, nothing) {
  const parts = rows.flatMap(({ file, failures }) => {
    const byReason = new Map();
    for (const { test, reason } of failures.filter((f) => f.kind === kind))
      byReason.set(reason, [...(byReason.get(reason) ?? []), test]);
    if (byReason.size === 0) return [];
    const items = [...byReason].map(([reason, tests]) => `- ${tests.join(', ')}: ${reason.replaceAll('|', '\\|')}`);
    return [`**${file}**\n\n${items.join('\n')}`];
  });
  return parts.length === 0 ? nothing : parts.join('\n\n');
}
