/** @file QueueRunner: tasks that keep a queue filled while the rest of the program takes out of it. */
import {
  errorCodeFromExceptionType,
  exceptionTypeFromErrorCode,
  type OpError,
  OutOfRangeError,
} from '../../core/errors.ts';
import * as log from '../../core/logging.ts';
import { Graph, getDefaultGraph } from '../../graph/graph.ts';
import { Operation } from '../../graph/operation.ts';
import { onlyOptions } from '../../graph/options.ts';
import { type Runner, runnerFor } from '../../graph/runner.ts';
import { isInScope, prependNameScope, stripNameScope } from '../../graph/scopedNames.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { userError } from '../../graph/userError.ts';
import { QueueRunnerDef } from '../../proto/queueRunner.ts';
import { GraphKeys } from '../collections.ts';
import { registerProtoFunctions } from '../saving/protoFunctions.ts';
import type { Coordinator } from '../training/coordinator.ts';
import { BackgroundTask } from '../training/task.ts';
import { QueueBase } from './queueBase.ts';

type ErrorClass = new (message: string) => OpError;

function closing(queue: QueueBase<unknown> | Operation | Tensor, cancelPendingEnqueues: boolean): Operation {
  if (queue instanceof QueueBase) return queue.close({ cancelPendingEnqueues });
  throw userError('A runner of a node needs closeOp and cancelOp. Give the queue itself, or both.');
}

/** Waits for a run whose errors change nothing any more. */
async function ignoringErrors(run: Promise<unknown>): Promise<void> {
  await run.catch(() => {});
}

export interface QueueRunnerOptions {
  /** Closes the queue when all enqueue operations have come to their end; made unless given. */
  readonly closeOp?: Operation | undefined;
  /** Closes the queue and cancels what waits, when a stop is requested; made unless given. */
  readonly cancelOp?: Operation | undefined;
  /** Errors that mean the end of the input: `[tf.errors.OutOfRangeError]` unless given. */
  readonly queueClosedExceptionTypes?: readonly ErrorClass[] | undefined;
}

export interface CreateThreadsOptions {
  /** Stops the tasks, and takes their errors. */
  readonly coord?: Coordinator | undefined;
  /** Whether the tasks begin at once; else each begins with its `start()`. */
  readonly start?: boolean | undefined;
  /** Means nothing here: tasks never keep a program from ending. */
  readonly daemon?: boolean | undefined;
}

/**
 * Runs enqueue operations of a queue again and again, each in a task of its own. When they come to the end of their input the
 * queue is closed; an error goes to the coordinator. Adds two `QueueCloseV2` nodes.
 */
export class QueueRunner {
  /** The queue, or the node that made it where the runner comes from a meta graph. */
  readonly queue: QueueBase<unknown> | Operation | Tensor;
  readonly enqueueOps: readonly Operation[];
  readonly closeOp: Operation;
  readonly cancelOp: Operation;
  readonly queueClosedExceptionTypes: readonly ErrorClass[];
  private readonly running = new WeakMap<object, number>();
  private raised: unknown[] = [];

  constructor(
    /** A queue; or the node that made it, if the operations that close it are given. */
    queue: QueueBase<unknown> | Operation | Tensor,
    enqueueOps: readonly Operation[],
    options: QueueRunnerOptions = {},
  ) {
    onlyOptions('tf.train.QueueRunner', options, 'closeOp', 'cancelOp', 'queueClosedExceptionTypes');
    if (!queue || !enqueueOps || enqueueOps.length === 0) throw userError('Must provide queue and enqueue_ops.');
    const { closeOp, cancelOp, queueClosedExceptionTypes } = options;
    if (queueClosedExceptionTypes?.length === 0)
      throw userError(
        'queueClosedExceptionTypes must name at least one class of tf.errors; leave it out for OutOfRangeError.',
      );
    this.queue = queue;
    this.enqueueOps = enqueueOps;
    this.queueClosedExceptionTypes = queueClosedExceptionTypes ?? [OutOfRangeError];
    this.closeOp = closeOp ?? closing(queue, false);
    this.cancelOp = cancelOp ?? closing(queue, true);
  }

  /** The name of the queue. */
  get name(): string {
    return this.queue.name;
  }

  /** Errors of tasks that had no coordinator to take them. */
  get exceptionsRaised(): readonly unknown[] {
    return this.raised;
  }

  /**
   * A task per enqueue operation, and with a coordinator one more that closes the queue when a stop is requested. None while
   * those made before for the same session still run.
   */
  createThreads(sess: Runner, options: CreateThreadsOptions = {}): BackgroundTask[] {
    const { coord, start } = onlyOptions('createThreads', options, 'coord', 'start', 'daemon');
    if ((this.running.get(sess) ?? 0) > 0) return [];
    this.running.set(sess, this.enqueueOps.length);
    this.raised = [];
    const prefix = `QueueRunnerThread-${this.name}`;
    const tasks = this.enqueueOps.map(
      (op) => new BackgroundTask(() => this.fill(sess, op, coord), { name: `${prefix}-${op.name}` }),
    );
    if (coord) tasks.push(new BackgroundTask(() => this.closeOnStop(sess, coord), { name: `${prefix}-close_on_stop` }));
    for (const task of tasks) {
      coord?.registerThread(task);
      if (start) task.start();
    }
    return tasks;
  }

  private async fill(sess: Runner, op: Operation, coord: Coordinator | undefined): Promise<void> {
    let isEnd = false;
    try {
      while (!coord?.shouldStop()) await sess.run(op);
    } catch (error) {
      isEnd = this.queueClosedExceptionTypes.some((type) => error instanceof type);
      if (!isEnd) this.report(error, coord);
    }
    const left = this.running.get(sess)! - 1;
    this.running.set(sess, left);
    // Only the last one closes: others may still have elements.
    if (isEnd && left === 0) await ignoringErrors(sess.run(this.closeOp));
  }

  private report(error: unknown, coord: Coordinator | undefined): void {
    if (coord) coord.requestStop(error);
    else {
      log.error(`Exception in QueueRunner: ${String(error)}`);
      this.raised.push(error);
    }
  }

  private async closeOnStop(sess: Runner, coord: Coordinator): Promise<void> {
    await coord.waitForStop();
    await ignoringErrors(sess.run(this.cancelOp));
  }

  /** The message for meta graphs; undefined when the queue is outside of the scope. */
  toProto(exportScope?: string): QueueRunnerDef | undefined {
    if (!isInScope(this.name, exportScope)) return undefined;
    const inner = (name: string) => stripNameScope(name, exportScope);
    return QueueRunnerDef.create({
      queue_name: inner(this.name),
      enqueue_op_name: this.enqueueOps.map(({ name }) => inner(name)),
      close_op_name: inner(this.closeOp.name),
      cancel_op_name: inner(this.cancelOp.name),
      queue_closed_exception_types: this.queueClosedExceptionTypes.map(errorCodeFromExceptionType),
    });
  }

  /** The runner that a message tells of; its operations are in the default graph. */
  static fromProto(def: QueueRunnerDef, importScope?: string): QueueRunner {
    const graph = getDefaultGraph();
    const element = (name: string) => graph.asGraphElement(prependNameScope(name, importScope));
    const operation = (name: string) => {
      const found = element(name);
      return found instanceof Operation ? found : found.op;
    };
    const types = def.queue_closed_exception_types.map(exceptionTypeFromErrorCode);
    return new QueueRunner(element(def.queue_name), def.enqueue_op_name.map(operation), {
      closeOp: operation(def.close_op_name),
      cancelOp: operation(def.cancel_op_name),
      ...(types.length > 0 ? { queueClosedExceptionTypes: types } : {}),
    });
  }
}

/** Has `startQueueRunners` start this runner too. */
export function addQueueRunner(runner: QueueRunner, collection: string = GraphKeys.QUEUE_RUNNERS): void {
  getDefaultGraph().addToCollection(collection, runner);
}

export interface StartQueueRunnersOptions extends CreateThreadsOptions {
  /** The default session unless given. */
  readonly sess?: Runner | undefined;
  /** Where the runners are found: `tf.GraphKeys.QUEUE_RUNNERS` unless given. */
  readonly collection?: string | undefined;
}

/**
 * Starts all runners of the graph; gives their tasks, for `coord.join`.
 *
 * @example const threads = tf.train.startQueueRunners({ sess, coord });
 */
export function startQueueRunners(options: StartQueueRunnersOptions = {}): BackgroundTask[] {
  onlyOptions('tf.train.startQueueRunners', options, 'sess', 'coord', 'start', 'daemon', 'collection');
  const sess = runnerFor('start queue runners', options.sess);
  const graph = 'graph' in sess && sess.graph instanceof Graph ? sess.graph : getDefaultGraph();
  // Only runners are put into that collection.
  const runners = graph.getCollection(options.collection ?? GraphKeys.QUEUE_RUNNERS) as QueueRunner[];
  if (runners.length === 0)
    log.warn('tf.train.startQueueRunners() was called when no queue runners were defined; the call can be removed.');
  const { coord, start = true } = options;
  return runners.flatMap((runner) => runner.createThreads(sess, { coord, start }));
}

registerProtoFunctions(
  GraphKeys.QUEUE_RUNNERS,
  QueueRunnerDef,
  (runner: QueueRunner, exportScope) => runner.toProto(exportScope),
  QueueRunner.fromProto,
);
