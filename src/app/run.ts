/** @file `tf.app.run`: the command line is read, then the program's main function runs. */
import { basename } from 'node:path';
import { FlagsError, flagsHelp, parse } from './flags.ts';

export interface RunOptions {
  /** What the program is about, for `--help`. */
  readonly usage?: string | undefined;
  /** The command line without the program's name; that of the process unless given. */
  readonly argv?: readonly string[] | undefined;
}

const helpFlags = new Set(['-?', '-h', '--help', '--helpfull', '--helpshort', '-help', '-helpfull', '-helpshort']);

function printHelp(usage: string | undefined): void {
  const program = basename(process.argv[1] ?? 'main');
  process.stdout.write(`\n${usage ?? `USAGE: ${program} [flags]`}\nflags:\n\n${flagsHelp()}\n`);
}

/**
 * Reads the flags and calls `main` with the program's name and the other arguments; its result, if it is a number, becomes
 * the exit code. Wrong flags end the program with a message, `--help` with an explanation of all flags.
 *
 * @example await tf.app.run(async () => { await train(FLAGS.logdir); });
 */
export async function run(main: (argv: readonly string[]) => unknown, options: RunOptions = {}): Promise<void> {
  const argv = options.argv ?? process.argv.slice(2);
  const end = argv.indexOf('--');
  if (argv.slice(0, end < 0 ? undefined : end).some((arg) => helpFlags.has(arg))) {
    printHelp(options.usage);
    process.exitCode = 1;
    return;
  }
  let rest: readonly string[];
  try {
    rest = parse(argv);
  } catch (error) {
    if (!(error instanceof FlagsError)) throw error;
    process.stderr.write(
      `FATAL Flags parsing error:\n  ${error.message}\nPass --helpshort or --helpfull to see help on flags.\n`,
    );
    process.exitCode = 1;
    return;
  }
  const result = await main([process.argv[1] ?? 'main', ...rest]);
  if (typeof result === 'number') process.exitCode = result;
}
