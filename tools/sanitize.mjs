/**
 * @file Runs the native library's checks under the address and undefined-behaviour sanitizers, under valgrind, and on an
 * emulated ARM processor, where these are installed: `npm run sanitize`.
 *
 * tools/nativeCheck.cpp replays programs of the common instructions without Node, which valgrind and emulators do not take. With the
 * sanitizers the tests of the device, which have every instruction, of the parsers and of linear algebra run too: Node then loads the sanitizers'
 * libraries first.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'build', 'check');
let compiler = process.env.CXX ?? 'g++';

function run(command, args, env = {}) {
  console.log(`> ${command} ${args.join(' ')}`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  if (error || status !== 0) {
    console.error(`sanitize: ${error?.message ?? `${command} ended with ${status}`}`);
    process.exit(1);
  }
}

const has = (command) => spawnSync(command, ['--version']).status === 0;

/** The checks, linked with the library in `build/<from>`. */
function checks(name, from, flags) {
  const program = join(folder, name);
  const library = join(root, 'build', from);
  const link = [join(library, 'libtensorloom.so'), `-Wl,-rpath,${library}`, '-o', program];
  run(compiler, ['-std=c++20', '-g', ...flags, 'tools/nativeCheck.cpp', ...link]);
  return program;
}

mkdirSync(folder, { recursive: true });
run('node', ['tools/buildNative.mjs', '--sanitize']);
run(
  checks('sanitized', 'native-sanitized', ['-O1', '-fsanitize=address,undefined', '-fno-sanitize-recover=undefined']),
  [],
  {
    ASAN_OPTIONS: 'detect_leaks=1',
    UBSAN_OPTIONS: 'print_stacktrace=1',
  },
);
/** A library of the compiler's, or nothing where there is none. */
function compilerLibrary(name) {
  const path = spawnSync(compiler, [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout?.trim() ?? '';
  return existsSync(path) ? path : undefined;
}
const sanitizers = ['libasan.so', 'libubsan.so'].map(compilerLibrary);
const deviceTests = [
  'backend/convolution',
  'backend/cpu',
  'backend/fewerProducts',
  'backend/fourier',
  'backend/imageStrings',
  'backend/joined',
  'backend/products',
  'backend/randomDigests',
  'backend/tiles',
  'backend/windows',
];
const parserTests = ['null/io/parseBeside', 'null/io/fuzz', 'whole/besideTheLoop', 'whole/data/csv'];
const otherTests = ['backend/chains', 'backend/turns', 'backend/doubles', 'whole/linearAlgebra'];
const tests = [...deviceTests, ...parserTests, ...otherTests].map((name) => `test/${name}.test.ts`);
// A program that the library refuses throws inside, and the address sanitizer does not know the stack that Node's calls run on
// here: it would report the throwing itself. nativeCheck.cpp has such programs. And with less optimization not every kernel joins a
// multiplication with the addition behind it, so products that are cut differently differ in the last bit, and functions in more.
const suited =
  '^(?!.*(refuses a program that the library finds inconsistent|a program that is refused|products give the same bits|units? of the last place))';
if (sanitizers.every((path) => path !== undefined)) {
  run('node', ['node_modules/vitest/vitest.mjs', 'run', ...tests, '-t', suited, '--testTimeout', '600000'], {
    LD_PRELOAD: sanitizers.join(' '),
    // Node itself keeps memory until it ends.
    ASAN_OPTIONS: 'detect_leaks=0',
    TENSORLOOM_LIBRARY: join(root, 'build/native-sanitized/libtensorloom.so'),
  });
} else {
  console.log(
    'sanitize: libasan and libubsan are not both installed; the tests of the device and the parsers are left out',
  );
}
// Node itself is not sanitized, so the sanitizer's own library must be there before anything else is loaded.
const runtime = spawnSync(compiler, ['-print-file-name=libasan.so'], { encoding: 'utf8' }).stdout.trim();
run('node', ['node_modules/vitest/vitest.mjs', 'run', 'test/backend/hostile.test.ts', '--testTimeout=1200000'], {
  LD_PRELOAD: runtime,
  // What JavaScript has not collected when the process ends is no leak.
  ASAN_OPTIONS: 'detect_leaks=0',
  UBSAN_OPTIONS: 'print_stacktrace=1',
  TENSORLOOM_LIBRARY: join(root, 'build', 'native-sanitized', 'libtensorloom.so'),
  MISUSE: 'all',
});
if (has('valgrind')) {
  // Valgrind knows no AVX-512: the library for all processors takes AVX2 there.
  run('node', ['tools/buildNative.mjs', '--all']);
  const program = checks('plain', 'native-all', ['-O1']);
  run('valgrind', ['--error-exitcode=1', '--quiet', '--leak-check=full', program, 'quick'], {
    TENSORLOOM_SIMD: 'avx2',
  });
} else {
  console.log('sanitize: valgrind is not installed; that part is left out');
}
const [armCompiler, emulator] = ['aarch64-linux-gnu-g++', 'qemu-aarch64'];
if (has(armCompiler) && has(emulator)) {
  compiler = armCompiler;
  run('node', ['tools/buildNative.mjs'], { TENSORLOOM_ARCH: 'arm64', CXX: armCompiler });
  run(emulator, ['-L', '/usr/aarch64-linux-gnu', checks('arm64', 'native-arm64', ['-O1'])]);
} else {
  console.log(`sanitize: ${armCompiler} and ${emulator} are not both installed; that part is left out`);
}
console.log('sanitize: clean');
