/** @file Training that looks after itself: stop it at any time, start it again, and it goes on from its last checkpoint. */
import * as tf from 'tensorloom';
import { runDirectly } from './runDirectly.ts';

export interface MonitoredOptions {
  readonly checkpointDir?: string;
  /** The step at which the training ends, over all its starts. */
  readonly lastStep?: number;
  readonly testDigits?: number;
}

/** Knows at which step this start of the training begins, and counts its steps. */
class StepRecorder extends tf.train.SessionRunHook {
  first = 0;
  steps = 0;
  override async afterCreateSession(session: tf.train.GraphSession): Promise<void> {
    this.first = await tf.train.globalStep(session, tf.train.getGlobalStep()!);
  }
  override afterRun(): void {
    this.steps++;
  }
}

export async function main({
  checkpointDir = 'monitored',
  lastStep = 500,
  testDigits = 10_000,
}: MonitoredOptions = {}) {
  const mnist = await tf.examples.mnist();
  tf.setRandomSeed(1);
  const images = tf.placeholder(tf.float32, [null, 784], { name: 'images' });
  const digits = tf.placeholder(tf.int64, [null], { name: 'digits' });
  const hidden = tf.layers.dense(images, 100, { activation: tf.nn.relu, name: 'hidden' });
  const scores = tf.layers.dense(hidden, 10, { name: 'scores' });
  const loss = tf.losses.sparseSoftmaxCrossEntropy(digits, scores);
  tf.summary.scalar('loss', loss);
  const globalStep = tf.train.getOrCreateGlobalStep();
  const trainOp = new tf.train.AdamOptimizer(2e-3).minimize(loss, { globalStep });
  const accuracy = tf.reduceMean(tf.cast(tf.equal(tf.argmax(scores, 1), digits), tf.float32));
  const [testImages, testLabels] = mnist.test.nextBatch(testDigits);

  const recorder = new StepRecorder();
  const final = new tf.train.FinalOpsHook(accuracy, {
    finalOpsFeedDict: [
      [images, testImages],
      [digits, testLabels],
    ],
  });
  const hooks = [
    recorder,
    new tf.train.StopAtStepHook({ lastStep }),
    new tf.train.NanTensorHook(loss),
    new tf.train.LoggingTensorHook({ loss }, { everyNIter: 100 }),
    new tf.train.FeedFnHook(() => {
      const [xs, ys] = mnist.train.nextBatch(100);
      return [
        [images, xs],
        [digits, ys],
      ];
    }),
    final,
  ];
  {
    await using sess = await tf.train.MonitoredTrainingSession({
      checkpointDir,
      hooks,
      saveCheckpointSteps: 50,
      saveSummariesSteps: 10,
    });
    while (!sess.shouldStop()) await sess.run(trainOp);
  }
  const tested = Number(final.finalOpsValues);
  const { first, steps } = recorder;
  const checkpoint = tf.train.latestCheckpoint(checkpointDir);
  console.log(`${steps} steps from ${first} on, accuracy ${tested.toFixed(4)}, checkpoint ${checkpoint}`);
  return { first, steps, accuracy: tested, checkpoint };
}

await runDirectly(import.meta.url, main);
