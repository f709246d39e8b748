/** @file tf.flags, tf.app.run and tf.logging. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from 'tensorloom';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const { flags } = tf;

beforeEach(() => flags.clearFlags());
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

function defineAll() {
  return {
    logdir: flags.DEFINE_string('logdir', null, 'Where the logs go.'),
    batchSize: flags.defineInteger('batch_size', 32, 'Examples in a step.', { lowerBound: 1, shortName: 'b' }),
    rate: flags.DEFINE_float('learning_rate', 0.01, 'How far a step goes.'),
    verbose: flags.DEFINE_boolean('verbose', false, 'Says more.'),
    mode: flags.DEFINE_enum('mode', 'train', ['train', 'eval'], 'What to do.'),
    layers: flags.DEFINE_list('layers', ['a', 'b'], 'Names of layers.'),
    sizes: flags.DEFINE_multi_integer('size', [], 'A size.'),
  };
}

describe('tf.flags', () => {
  it('reads values of every kind', () => {
    const defined = defineAll();
    const rest = flags.parse(
      [
        '--logdir=/x',
        '--batch-size',
        '0x10',
        '-learning_rate',
        '1e-3',
        '--verbose',
        '--mode=eval',
        '--layers=c, d,e',
      ].concat(['--size=3', '--size', '4', 'file', '--noverbose']),
    );
    expect(rest).toEqual(['file', '--noverbose']);
    expect({ ...flags.FLAGS }).toEqual({
      batch_size: 16,
      layers: ['c', 'd', 'e'],
      learning_rate: 1e-3,
      logdir: '/x',
      mode: 'eval',
      size: [3, 4],
      verbose: true,
    });
    const batch: number = defined.batchSize.value;
    const folder: string | null = defined.logdir.value;
    const mode: 'train' | 'eval' = defined.mode.value;
    expect([batch, folder, mode, defined.rate.present, defined.rate.default]).toEqual([16, '/x', 'eval', true, 0.01]);
    flags.parse(['-b=7', '--noverbose', '--', '--mode=train']);
    expect([flags.FLAGS['b'], flags.FLAGS['verbose'], flags.remainingArguments()]).toEqual([
      7,
      false,
      ['--mode=train'],
    ]);
  });

  it('has defaults, which can be set', () => {
    const { sizes } = defineAll();
    flags.parse([]);
    expect([sizes.value, flags.FLAGS['mode'], sizes.present]).toEqual([[], 'train', false]);
    flags.FLAGS['mode'] = 'eval';
    expect([flags.FLAGS['mode'], 'mode' in flags.FLAGS, 'moat' in flags.FLAGS]).toEqual(['eval', true, false]);
    flags.resetFlags();
    flags.parse([]);
    expect(flags.FLAGS['mode']).toBe('train');
  });

  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [['--batchsize=3'], /^Unknown command line flag 'batchsize'. Did you mean: batch_size \?$/],
    [['--xyz'], /^Unknown command line flag 'xyz'.$/],
    [['--batch_size=three'], /^flag --batch_size=three: 'three' is not an integer$/],
    [['--batch_size=1.5'], /is not an integer/],
    [['--batch_size=0'], /^flag --batch_size=0: 0 is not a positive integer$/],
    [['--learning_rate=fast'], /'fast' is not a number/],
    [['--mode=test'], /^flag --mode=test: value should be one of <train\|eval>$/],
    [['--verbose=maybe'], /Non-boolean argument to boolean flag: 'maybe'/],
    [['--noverbose=true'], /--noverbose does not take an argument/],
    [['--logdir'], /^Missing value for flag --logdir$/],
  ];
  for (const [args, message] of wrong) {
    it(`refuses ${args.join(' ')}`, () => {
      defineAll();
      expect(() => flags.parse(args)).toThrow(flags.FlagsError);
      expect(() => flags.parse(args)).toThrow(message);
    });
  }

  it('refuses what validators refuse, and names that are taken or unknown', () => {
    defineAll();
    flags.markFlagAsRequired('logdir');
    expect(() => flags.parse([])).toThrow(/flag --logdir=None: Flag --logdir must have a value other than None/);
    flags.registerValidator('learning_rate', (rate) => Number(rate) < 1, 'too fast');
    expect(() => flags.parse(['--logdir=x', '--learning_rate=2'])).toThrow(/flag --learning_rate=2: too fast/);
    flags.registerMultiFlagsValidator(
      ['mode', 'size'],
      ({ mode, size }) => mode === 'train' || size !== null,
      'no size',
    );
    expect(() => flags.defineString('mode', '', 'again')).toThrow(
      /The flag 'mode' is defined twice. First from flags.test.ts/,
    );
    expect(() => flags.FLAGS['moed']).toThrow(/There is no flag 'moed'. Did you mean: mode \?/);
    expect(() => flags.defineString('two words', '', '')).toThrow(/cannot be the name of a flag/);
  });

  it("explains itself in absl's layout", () => {
    defineAll();
    flags.defineString('long', 'x'.repeat(60), `A long ${'explanation '.repeat(10)}`);
    expect(flags.flagsHelp()).toBe(`flags.test.ts:
  -b,--batch_size: Examples in a step.
    (default: '32')
    (a positive integer)
  --layers: Names of layers.
    (default: 'a,b')
    (a comma separated list)
  --learning_rate: How far a step goes.
    (default: '0.01')
    (a number)
  --logdir: Where the logs go.
  --long: A long explanation explanation explanation explanation explanation
    explanation explanation explanation explanation explanation
    (default: '${'x'.repeat(60)}')
  --mode: <train|eval>: What to do.
    (default: 'train')
  --size: A size.;
    repeat this option to specify a list of values
    (an integer)
  --[no]verbose: Says more.
    (default: 'false')`);
  });

  it('records the parameters of a run beside its logs, with which the run is repeated', () => {
    defineAll();
    const folder = mkdtempSync(join(tmpdir(), 'tensorloom-flags-'));
    flags.parse(['--size=1', '--size=2', '--verbose', '--logdir=/y', 'more']);
    flags.recordParameters(join(folder, 'run'), { note: 'first try' });
    const record = JSON.parse(readFileSync(join(folder, 'run', 'parameters.json'), 'utf8'));
    expect([record.flags.size, record.note, record.arguments, record.node]).toEqual([
      [1, 2],
      'first try',
      ['more'],
      process.version,
    ]);
    const before = { ...flags.FLAGS };
    flags.resetFlags();
    flags.parse([`--flagfile=${join(folder, 'run', 'flags.txt')}`]);
    expect({ ...flags.FLAGS }).toEqual(before);
    expect(() => flags.parse(['--flagfile=/no/such'])).toThrow(flags.FlagsError);
    expect(() => flags.parse(['--flagfile=/no/such'])).toThrow(
      'Unable to open flagfile: /no/such; No such file or directory',
    );
    rmSync(folder, { recursive: true });
  });
});

describe('tf.app.run', () => {
  const said = (stream: NodeJS.WriteStream) => {
    const lines: string[] = [];
    vi.spyOn(stream, 'write').mockImplementation((text) => lines.push(String(text)) > 0);
    return lines;
  };

  it('calls main with what is left of the command line', async () => {
    defineAll();
    const calls: (readonly string[])[] = [];
    await tf.app.run((argv) => calls.push(argv.slice(1)) && 3, { argv: ['--batch_size=5', 'x', 'y'] });
    expect([calls, tf.app.flags.FLAGS['batch_size'], process.exitCode]).toEqual([[['x', 'y']], 5, 3]);
  });

  it('explains the flags, and says what is wrong with them', async () => {
    defineAll();
    const out = said(process.stdout);
    const err = said(process.stderr);
    const main = vi.fn();
    await tf.app.run(main, { argv: ['--help'], usage: 'Trains a network.' });
    expect(out.join('')).toMatch(/^\nTrains a network\.\nflags:\n\nflags\.test\.ts:\n {2}-b,--batch_size: Examples/);
    await tf.app.run(main, { argv: ['--mod=eval'] });
    expect(err.join('')).toBe(
      "FATAL Flags parsing error:\n  Unknown command line flag 'mod'. Did you mean: mode ?\n" +
        'Pass --helpshort or --helpfull to see help on flags.\n',
    );
    expect([main.mock.calls.length, process.exitCode]).toEqual([0, 1]);
  });
});

describe('tf.logging', () => {
  const lines: string[] = [];
  beforeEach(() => {
    lines.length = 0;
    tf.logging.setTarget((line) => lines.push(line));
  });
  afterEach(() => {
    tf.logging.setTarget();
    tf.logging.setFormat('tensorflow');
    tf.logging.setVerbosity(tf.logging.WARN);
  });

  it('shows what is at or above the level', () => {
    tf.logging.info('not shown');
    tf.logging.warn('step %d of %s: %.3f%%', 3, 'ten', 99.5);
    tf.logging.setVerbosity('DEBUG');
    tf.logging.debug('%5d|%-4s|%05.1f|%e|%g|%x|%r', 7, 'ab', 2.75, 12345.678, 0.0001, 255, 'q');
    tf.logging.error('more', 1);
    tf.logging.fatal('100%');
    expect([tf.logging.getVerbosity(), lines.join('')]).toEqual([
      tf.logging.DEBUG,
      "WARNING:tensorflow:step 3 of ten: 99.500%\nDEBUG:tensorflow:    7|ab  |002.8|1.234568e+04|0.0001|ff|'q'\n" +
        'ERROR:tensorflow:more 1\nCRITICAL:tensorflow:100%\n',
    ]);
    expect(() => tf.logging.setVerbosity('LOUD')).toThrow(/'LOUD' is no level/);
  });

  it("writes absl's lines", () => {
    tf.logging.setFormat('absl');
    tf.logging.warning('hello');
    expect(lines[0]).toMatch(/^W\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ flags\.test\.ts:\d+\] hello\n$/);
  });

  it('counts by the line of code', () => {
    tf.logging.setVerbosity(tf.logging.INFO);
    for (let i = 0; i < 7; i++) {
      tf.logging.logFirstN(tf.logging.INFO, 'first %d', 2, i);
      tf.logging.logEveryN(tf.logging.INFO, 'every %d', 3, i);
      tf.logging.logIf(tf.logging.INFO, 'if %d', i === 5, i);
    }
    expect(lines.map((line) => line.trim().split(':').at(-1))).toEqual([
      'first 0',
      'every 0',
      'first 1',
      'every 3',
      'if 5',
      'every 6',
    ]);
  });
});
