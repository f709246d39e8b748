/** @file Runs the examples, and replays the first runs of each in real TensorFlow: same graph, same seeds, same feeds, same numbers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as tf from 'tensorloom';
import * as characterModel from '../../examples/characterModel.ts';
import * as controlFlow from '../../examples/controlFlow.ts';
import * as customOps from '../../examples/customOps.ts';
import * as deepQ from '../../examples/deepQ.ts';
import * as logisticRegression from '../../examples/logisticRegression.ts';
import * as mnistCnn from '../../examples/mnistCnn.ts';
import * as mnistMlp from '../../examples/mnistMlp.ts';
import * as policyGradient from '../../examples/policyGradient.ts';
import * as reverseStrings from '../../examples/reverseStrings.ts';
import * as vanishingGradients from '../../examples/vanishingGradients.ts';
import * as variableScopes from '../../examples/variableScopes.ts';
import { findTensorFlow, runPython, withTemporaryFolder } from '../tensorflow.ts';
import { Recorder } from './recorder.ts';

/** So many training steps of each program are compared, and the runs between them, such as initialisation. */
const steps = 100;
/** So often TensorFlow is given our variables, to compare steps from the same state. */
const every = 5;

/** Each is stopped once enough was recorded. */
const programs: Record<string, () => Promise<unknown>> = {
  logisticRegression: () => logisticRegression.main(),
  mnistMlp: () => mnistMlp.main({ epochs: 1, trainDigits: steps * 128, testDigits: 100 }),
  mnistCnn: () => mnistCnn.main({ epochs: 1, trainDigits: steps * 64, batchSize: 64, testDigits: 100 }),
  variableScopes: () => variableScopes.main({ trainingSteps: steps }),
  characterModel: () => characterModel.main({ steps, batchSize: 8, stepLength: 20, units: 64, sampleLength: 1 }),
  rememberSmall: () => vanishingGradients.remember('tanh, small random weights', steps),
  rememberOrthogonal: () => vanishingGradients.remember('tanh, orthogonal weights', steps),
  rememberIdentity: () => vanishingGradients.remember('relu, identity weights', steps),
  controlFlow: () => controlFlow.main({ trainingSteps: steps }),
  reverseStrings: () => reverseStrings.main({ steps, batchSize: 16 }),
  deepQ: () => deepQ.main({ episodes: 50 }),
  policyGradient: () => policyGradient.main({ iterations: 34, solvedAt: Infinity }),
  customOps: () => customOps.main({ trainingSteps: steps }),
};

const found = findTensorFlow();
if ('reason' in found) {
  console.log(found.reason);
} else {
  const asked = process.argv.slice(2);
  const chosen = Object.entries(programs).filter(([name]) => asked.length === 0 || asked.includes(name));
  process.exitCode = await withTemporaryFolder(async (folder) => {
    for (const [name, main] of chosen) {
      const graph = new tf.Graph();
      const recorder = new Recorder(steps, every, (run, state) =>
        writeFileSync(join(folder, `${name}.${run}.json`), JSON.stringify(state)),
      );
      await recorder.during(() => graph.asDefault(main));
      writeFileSync(join(folder, `${name}.pb`), tf.GraphDef.encode(graph.asGraphDef()));
      writeFileSync(join(folder, `${name}.json`), JSON.stringify(recorder.runs));
    }
    const script = fileURLToPath(new URL('../../../tools/curves/replay.py', import.meta.url));
    return runPython(found.python, script, [folder, ...chosen.map(([name]) => name)]);
  });
}
