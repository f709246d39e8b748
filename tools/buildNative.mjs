/**
 * @file Builds native/ into build/native/libtensorloom.{so,dylib,dll} with whatever C++ compiler the machine has.
 *
 *   node tools/buildNative.mjs              builds what has changed, for the processor of this machine
 *   node tools/buildNative.mjs --all        builds for all processors of this kind, into build/native-all
 *   node tools/buildNative.mjs --sanitize   builds the address- and undefined-behaviour-sanitized library instead,
 *                                           into build/native-sanitized
 *   TENSORLOOM_ARCH=arm64 CXX=… node tools/buildNative.mjs
 *                                           builds with a compiler for another processor, into build/native-arm64
 *
 * Without a compiler it says so and succeeds: the reference device then does the work, slowly.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, posix, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const sources = join(root, 'native');
const sanitize = process.argv.includes('--sanitize');
const all = process.argv.includes('--all');
const arch = process.env.TENSORLOOM_ARCH ?? process.arch;
const kind = sanitize ? 'native-sanitized' : all ? 'native-all' : arch === process.arch ? 'native' : `native-${arch}`;
const output = join(root, 'build', kind);
const extension = { darwin: 'dylib', win32: 'dll' }[process.platform] ?? 'so';
const library = join(output, `libtensorloom.${extension}`);

/**
 * C++17 where it will do: the standard headers of C++20 take twice as long to compile.
 * Rounding must not depend on the optimizer: no contraction of a * b + c, no fast-math. The two -fno flags only promise
 * that nobody reads errno or floating-point exceptions, which lets loops with sqrt and comparisons become vector code.
 */
// Without sharing the places of variables that have gone, frames are larger than the stack that Node's calls run on here.
const sanitizers = [
  '-fsanitize=address,undefined',
  '-fno-sanitize-recover=undefined',
  '-fno-sanitize-address-use-after-scope',
];
const commonFlags = [
  ...['-std=c++17', '-fPIC', '-pthread', '-Wall', '-Wextra', '-fvisibility=hidden', '-fvisibility-inlines-hidden'],
  ...['-ffp-contract=off', '-fno-math-errno', '-fno-trapping-math', '-fno-strict-aliasing'],
  ...(sanitize ? ['-O1', '-g', ...sanitizers] : []),
];
/** Vector code is wanted in *.simd.cpp only. With GCC, what -O3 does beyond it makes compiling slow and nothing faster. */
const plainFlags = sanitize ? [] : ['-O2'];
const simdFlags = (compiler) =>
  sanitize ? [] : isGcc(compiler) ? ['-O2', '-ftree-vectorize', '-fvect-cost-model=dynamic'] : ['-O3'];
const isGcc = (compiler) => compiler.version.includes('Free Software Foundation');

/** Instruction sets for which *.simd.cpp files can be compiled, worst first. */
const instructionSets =
  arch === 'x64'
    ? {
        portable: [],
        avx2: ['-mavx2', '-mfma'],
        avx512: [
          ...['-mavx512f', '-mavx512bw', '-mavx512dq', '-mavx512vl', '-mavx2', '-mfma', '-mprefer-vector-width=512'],
        ],
      }
    : { portable: [] };

/** The matrix unit and vectors of its numbers, for *.amx.cpp: beside AVX-512, where the system is one that is known to share it out. */
const matrixUnit = ['-mamx-tile', '-mamx-bf16', '-mavx512bf16'];

/** The best of them that this processor has, or all where that cannot be known; native/simd/choose.cpp picks at run time. */
function chooseVariants() {
  const sets = Object.entries(instructionSets);
  if (all || process.platform !== 'linux') return sets;
  const fits = ([, flags]) => flags.every((flag) => !/^-m(avx|fma)/.test(flag) || processorFlags().has(flag.slice(2)));
  return sets.filter(fits).slice(-1);
}
function processorFlags() {
  return new Set(/^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1]?.trim().split(' ') ?? []);
}
const variants = Object.fromEntries(chooseVariants());

/** Whether to compile for the matrix unit: the compiler must know it, and this processor have it unless all are built for. */
function usesMatrixUnit(compiler) {
  if (process.platform !== 'linux' || !variants.avx512) return false;
  if (!all && !['amx_tile', 'amx_bf16', 'avx512_bf16'].every((flag) => processorFlags().has(flag))) return false;
  const empty = ['-x', 'c++', '-E', '/dev/null', '-o', '/dev/null'];
  return spawnSync(compiler.command, [...compiler.args, ...matrixUnit, ...empty]).status === 0;
}

/** Functions of the C library take as long however well they are called. */
const slowFlags = sanitize ? [] : ['-O1'];

/** Matrix products want their multiplications and additions contracted; their results are sums in no set order anyway. */
const fileFlags = {
  'core/pool.cpp': ['-std=c++20'], // threads that wait for an atomic to change
  'map/body.cpp': ['-std=c++20'], // std::bit_cast
  'map/complexOps.cpp': slowFlags,
  'map/slowOps.cpp': slowFlags,
  // Loops over rows of pixels, which become vector code for any processor.
  'image/jpegColours.cpp': sanitize ? [] : ['-O3'],
  // Its small loops must be unrolled for the vectors to stay in registers.
  'image/jpegTransform.cpp': sanitize ? [] : ['-O3'],
  'image/png.cpp': sanitize ? [] : ['-O3'],
  'dot/gemm.simd.cpp': ['-ffp-contract=fast'],
  'conv/strip.simd.cpp': ['-ffp-contract=fast'],
  // Its polynomials are written for it.
  'map/transcendental.simd.cpp': ['-ffp-contract=fast'],
  'map/doubles.simd.cpp': ['-ffp-contract=fast'],
  'map/doubleAngles.simd.cpp': ['-ffp-contract=fast'],
  'map/doubleErrors.simd.cpp': ['-ffp-contract=fast'],
  'map/doublePowers.simd.cpp': ['-ffp-contract=fast'],
  'map/arcs.simd.cpp': ['-ffp-contract=fast'],
  'conv/lanes.simd.cpp': ['-ffp-contract=fast'],
  'conv/winograd.simd.cpp': ['-ffp-contract=fast'],
  // All arguments that it can have were tried so.
  'random/normals.simd.cpp': ['-ffp-contract=fast'],
  'linalg/rows.simd.cpp': ['-ffp-contract=fast'],
  'dot/gemm.amx.cpp': ['-ffp-contract=fast'],
  'tiles/tiles.amx.cpp': ['-ffp-contract=fast'],
};
const defines = (names) => names.map((name) => `-DTL_HAS_${name.toUpperCase()}`);

function findCompiler() {
  const candidates = process.env.CXX ? [process.env.CXX] : ['g++', 'clang++', 'c++'];
  for (const name of candidates) {
    const [command, ...args] = name.split(' ').filter(Boolean);
    const answer = spawnSync(command, [...args, '--version'], { encoding: 'utf8' });
    if (answer.status === 0) return { command, args, version: answer.stdout };
  }
  return undefined;
}

const files = readdirSync(sources, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && /\.(cpp|h)$/.test(entry.name))
  .map((entry) => relative(sources, join(entry.parentPath ?? entry.path, entry.name)).replaceAll('\\', '/'))
  .sort();
const text = new Map(files.map((file) => [file, readFileSync(join(sources, file))]));

function hashOf(...parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex').slice(0, 20);
}

/** A file and the headers it includes, directly or through others: a change elsewhere compiles nothing again. */
const closures = new Map();
function closureOf(file) {
  let closure = closures.get(file);
  if (!closure) {
    closures.set(file, (closure = new Set([file])));
    for (const [, name] of text
      .get(file)
      .toString()
      .matchAll(/^#include "([^"]+)"/gm)) {
      const header = posix.join(posix.dirname(file), name);
      if (text.has(header)) for (const part of closureOf(header)) closure.add(part);
    }
  }
  return closure;
}

/** One compilation per plain file, one per variant for *.simd.cpp, one or none for *.amx.cpp. */
function compilations(compiler) {
  const sets = Object.entries(variants);
  const units = usesMatrixUnit(compiler) ? [['amx', [...variants.avx512, ...matrixUnit]]] : [];
  const chosen = [...sets, ...units].map(([name]) => name);
  return files
    .filter((file) => file.endsWith('.cpp'))
    .flatMap((file) => {
      const own = file === 'simd/choose.cpp' ? defines(chosen) : (fileFlags[file] ?? []);
      const perSet = file.endsWith('.simd.cpp') ? sets : file.endsWith('.amx.cpp') ? units : undefined;
      if (!perSet) return [{ file, flags: [...commonFlags, ...plainFlags, ...own] }];
      return perSet.map(([name, flags]) => ({
        file,
        flags: [...commonFlags, ...simdFlags(compiler), ...flags, ...own, `-DTL_SIMD=${name}`],
      }));
    })
    .map(({ file, flags }) => {
      const sourceText = [...closureOf(file)].sort().flatMap((part) => [part, text.get(part)]);
      const key = hashOf(...sourceText, compiler.command, compiler.version, ...compiler.args, ...flags);
      return { file, flags, object: join(output, 'objects', `${file.replaceAll('/', '-')}-${key}.o`) };
    });
}

function runCompiler(compiler, args) {
  return new Promise((resolve) => {
    const child = spawn(compiler.command, [...compiler.args, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    child.stdout.on('data', (data) => (said += data));
    child.stderr.on('data', (data) => (said += data));
    child.on('error', (error) => resolve({ ok: false, said: String(error) }));
    child.on('close', (code) => resolve({ ok: code === 0, said }));
  });
}

/** Compiles to a temporary name first, so that two builds at once, or a build cut short, leave no half-written file. */
async function compile(compiler, { file, flags, object }) {
  const partial = `${object}.${process.pid}`;
  const result = await runCompiler(compiler, [...flags, '-c', join(sources, file), '-o', partial]);
  if (result.ok) renameSync(partial, object);
  return { ...result, file };
}

/** Longer than any build takes, in milliseconds. */
const longest = 3600_000;

/** The objects that there are already: as new from now on, so that no other build takes them for left over. */
function claim(jobs, now) {
  for (const { object } of jobs) if (existsSync(object)) utimesSync(object, now, now);
}

/** Removes what no build has wanted for a while. What is newer may be that of another build in the same tree. */
function removeLeftOver(jobs, now) {
  const wanted = new Set(jobs.map((job) => job.object));
  for (const name of readdirSync(join(output, 'objects'))) {
    const object = join(output, 'objects', name);
    const { mtimeMs = now } = statSync(object, { throwIfNoEntry: false }) ?? {};
    if (!wanted.has(object) && mtimeMs < now - longest) rmSync(object, { force: true });
  }
}

async function inParallel(jobs, run) {
  const results = [];
  const queue = [...jobs];
  const worker = async () => {
    for (let job = queue.shift(); job; job = queue.shift()) results.push(await run(job));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  return results;
}

async function main() {
  const compiler = findCompiler();
  if (!compiler) {
    console.log(
      `tensorloom: no C++ compiler found (tried ${process.env.CXX ?? 'g++, clang++, c++'}); ` +
        `the slow reference device will be used. Install one and run: node ${fileURLToPath(import.meta.url)}`,
    );
    return;
  }
  const jobs = compilations(compiler);
  const stamp = hashOf(...jobs.map((job) => job.object));
  const stampFile = join(output, 'stamp');
  const where = relative(process.cwd(), library) || library;
  if (existsSync(library) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) {
    console.log(`tensorloom: ${where} is up to date`);
    return;
  }
  const begun = Date.now();
  mkdirSync(join(output, 'objects'), { recursive: true });
  claim(jobs, new Date(begun));
  const missing = jobs.filter((job) => !existsSync(job.object));
  const results = await inParallel(missing, (job) => compile(compiler, job));
  const partial = `${library}.${process.pid}`;
  const link = ['-shared', ...commonFlags, ...jobs.map((job) => job.object), '-o', partial];
  const failures = results.filter((result) => !result.ok);
  const linked = failures.length > 0 ? undefined : await runCompiler(compiler, link);
  for (const result of results) if (result.said) console.error(result.said.trimEnd());
  if (!linked?.ok) {
    if (linked) console.error(linked.said);
    console.error(
      `tensorloom: ${compiler.command} could not build the native library (${failures.map((f) => f.file).join(', ') || 'link'}); ` +
        'the slow reference device will be used.',
    );
    process.exitCode = process.env.npm_lifecycle_event ? 0 : 1; // installing must go on without it
    return;
  }
  renameSync(partial, library);
  writeFileSync(stampFile, stamp);
  removeLeftOver(jobs, begun);
  const seconds = ((Date.now() - begun) / 1000).toFixed(1);
  console.log(
    `tensorloom: built ${where} (${Object.keys(variants).join(', ')}) with ${compiler.command} in ${seconds} s`,
  );
}

await main();
