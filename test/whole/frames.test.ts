/** @file Graphs with control flow by frames that TensorFlow 1.x built: TensorFlow's values and errors, however they are run. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as tf from '../../src/api/index.ts';
import { Server } from '../../src/cluster/server.ts';
import { NDArray } from '../../src/core/ndarray.ts';
import { ReferenceDevice } from '../../src/devices/reference/device.ts';
import { tensorFromProto, tensorToProto } from '../../src/proto/tensorProto.ts';
import { Engine } from '../../src/runtime/engine.ts';
import { ResourceManager } from '../../src/runtime/resources.ts';
import { answered, expectStep, feedsOf, frameCases } from './frameCases.ts';
import { MasterClient } from './masterClient.ts';

function arrayOf(value: unknown): NDArray {
  if (!(value instanceof NDArray)) throw new Error('a tensor is fetched as an array');
  return value;
}

let server: Server;
let client: MasterClient;
beforeAll(async () => {
  server = await Server.createLocalServer();
  client = new MasterClient(server.target);
});
afterAll(async () => {
  client.close();
  await server.stop();
});

describe.each(frameCases)('$name', ({ name, definition, steps }) => {
  // Of random graphs there are many; the ways to run them are covered by the others.
  const isRandom = name.startsWith('random_');

  test.each(isRandom ? [true] : [true, false])('runs as in TensorFlow, simplified: %s', async (simplify) => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.importGraphDef(definition, { name: '' }));
    using sess = new tf.Session({ graph, config: { graphOptions: { simplify } } });
    for (const [k, step] of steps.entries()) {
      const run = sess.run({ fetches: [...step.fetches], targets: [...step.targets] }, step.feeds);
      await expectStep(
        run.then(({ fetches }) => Array.from(fetches, arrayOf)),
        step,
        `step ${k}`,
      );
    }
  });

  test('runs as in TensorFlow, node by node', async () => {
    const engine = new Engine(new ReferenceDevice(), new ResourceManager(), { joinsNodes: false });
    engine.extend(definition.node, definition.library?.function ?? []);
    for (const [k, step] of steps.entries()) {
      const feeds = feedsOf(step, definition);
      const executable = engine.prepare(
        feeds.map(([fed]) => fed),
        step.fetches,
        step.targets,
      );
      await expectStep(executable.run(feeds.map(([, array]) => array)), step, `step ${k}`);
    }
  });

  test.skipIf(isRandom)('runs as in TensorFlow on a server', async () => {
    const { session_handle } = await client.call('CreateSession', {
      graph_def: definition,
      config: { isolate_session_state: true },
    });
    for (const [k, step] of steps.entries()) {
      const run = client.call('RunStep', {
        session_handle,
        feed: feedsOf(step, definition).map(([fed, array]) => ({ name: fed, tensor: tensorToProto(array) })),
        fetch: [...step.fetches],
        target: [...step.targets],
        store_errors_in_response_body: true,
      });
      const arrays = run.then(({ status_code, status_error_message, tensor }) =>
        answered(status_code, status_error_message, () => tensor.map((t) => tensorFromProto(t.tensor!))),
      );
      await expectStep(arrays, step, `step ${k}`);
    }
    await expect(client.call('CloseSession', { session_handle })).resolves.toBeDefined();
  });
});
