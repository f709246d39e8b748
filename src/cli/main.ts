#!/usr/bin/env node
/** @file The `tensorloom` command. */
import { Command, InvalidArgumentError } from 'commander';
import '../autodiff/index.ts';
import '../ops/index.ts';
import { Server } from '../cluster/server.ts';
import type { CheckpointOptions } from './checkpoint.ts';

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw new InvalidArgumentError('a port is 0 to 65535');
  return port;
}

async function serve({ port, host, job }: { port: number; host: string; job: string }): Promise<void> {
  const server = new Server({ [job]: [`localhost:${port}`] }, { jobName: job, taskIndex: 0, host });
  await server.ready;
  const stop = () => void server.stop();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  console.log(`tensorloom serves ${server.target}`);
  await server.join();
}

const program = new Command('tensorloom').description('TensorFlow 1.x in TypeScript.');
program
  .command('serve')
  .description('run the graphs of TensorFlow clients: tf.compat.v1.Session("grpc://localhost:PORT")')
  .requiredOption('--port <number>', 'port to listen on; 0 takes a free one', portNumber)
  .option('--host <address>', 'address to listen on; 0.0.0.0 for every network', '127.0.0.1')
  .option('--job <name>', 'job name in device names', 'local')
  .action(serve);

program
  .command('checkpoint')
  .description('list the tensors of a checkpoint or SavedModel, or compare two')
  .argument('<path>', 'a checkpoint without its ending, a folder with checkpoints, or a SavedModel')
  .argument('[other]', 'another one, to compare with; the exit status is 1 when they differ')
  .option('--tensor <name>', 'print the values of one tensor; of two checkpoints, compare only it')
  .option('--no-statistics', 'read names, types and shapes only')
  .option('--json', 'print JSON')
  .action(async (path: string, other: string | undefined, options: CheckpointOptions) => {
    // A server needs none of what builds graphs.
    const { checkpoint } = await import('./checkpoint.ts');
    if (!(await checkpoint(path, other, options, console.log))) process.exitCode = 1;
  });

program.parseAsync().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
