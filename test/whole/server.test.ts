/** @file The MasterService, every RPC and every error, asked by a client that knows only the wire. */
import * as tf from 'tensorloom';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ClusterSpec } from '../../src/cluster/clusterSpec.ts';
import { Server } from '../../src/cluster/server.ts';
import { scalar } from '../../src/core/ndarray.ts';
import type { ConfigProto } from '../../src/proto/config.ts';
import type { Init } from '../../src/proto/message.ts';
import { tensorFromProto, tensorToProto } from '../../src/proto/tensorProto.ts';
import { StopToken } from '../../src/runtime/stop.ts';
import { MasterClient } from './masterClient.ts';

/** gRPC's and TensorFlow's numbers. */
const code = { cancelled: 1, invalid: 3, late: 4, missing: 5, precondition: 9, aborted: 10, unimplemented: 12 };
const task = '/job:local/replica:0/task:0';

let server: Server;
let client: MasterClient;
const handles: string[] = [];

beforeAll(async () => {
  server = await Server.createLocalServer();
  client = new MasterClient(server.target);
});
afterEach(async () => {
  for (const session_handle of handles.splice(0)) await client.call('CloseSession', { session_handle }).catch(() => {});
});
afterAll(async () => {
  client.close();
  await server.stop();
});

/** The graph of the tests: y = 2x, z = y + w, strings, and a variable `v` with its init and add ops. */
const graph = new tf.Graph();
graph.asDefault(() => {
  const x = tf.placeholder(tf.float32, [], { name: 'x' });
  const w = tf.placeholder(tf.float32, [], { name: 'w' });
  const y = tf.multiply(x, 2, { name: 'y' });
  tf.add(y, w, { name: 'z' });
  tf.identity(tf.placeholder(tf.string, null, { name: 's' }), { name: 'echo' });
  tf.identity(tf.placeholder(tf.float32, null, { name: 'a' }), { name: 'big' });
  const v = tf.getVariable('v', { initializer: tf.constant(1, { dtype: tf.float32 }), useResource: true });
  graph.addToCollection('named', v);
  tf.identity(v, { name: 'read' });
  tf.identity(v.assignAdd(1), { name: 'added' });
});
const initOp = graph.operations.find((op) => op.type === 'AssignVariableOp')!.name;

async function open(config?: Init<ConfigProto>): Promise<string> {
  const { session_handle } = await client.call('CreateSession', {
    graph_def: graph.asGraphDef(),
    ...(config && { config }),
  });
  handles.push(session_handle);
  return session_handle;
}

const feed = (name: string, value: number) => ({ name, tensor: tensorToProto(scalar(tf.float32, value)) });

/** Runs a step; an error in the body is thrown as `code: words`. */
async function run(
  session_handle: string,
  fetch: string[],
  feeds: Record<string, number> = {},
  rest: Partial<Parameters<typeof client.call<'RunStep'>>[1]> = {},
) {
  const response = await client.call('RunStep', {
    session_handle,
    fetch,
    feed: Object.entries(feeds).map(([name, value]) => feed(name, value)),
    store_errors_in_response_body: true,
    ...rest,
  });
  if (response.status_code !== 0) throw new Error(`${response.status_code}: ${response.status_error_message}`);
  return response;
}

async function values(...args: Parameters<typeof run>): Promise<unknown[]> {
  return (await run(...args)).tensor.map(({ tensor }) => tensorFromProto(tensor!).toArray());
}

describe('sessions', () => {
  it('run steps: feeds replace, names come back, metadata is there', async () => {
    const handle = await open();
    const response = await run(handle, ['y:0', 'z:0'], { 'x:0': 3, 'w:0': 1 });
    expect(response.tensor.map(({ name, tensor }) => [name, tensorFromProto(tensor!).toArray()])).toEqual([
      ['y:0', 6],
      ['z:0', 7],
    ]);
    expect(response.metadata?.step_stats).toBeUndefined();
    expect(await values(handle, ['z:0'], { 'y:0': 10, 'w:0': 1 })).toEqual([11]);
  });

  it('take every form of tensor, and 40 MB', async () => {
    const handle = await open();
    const strings = {
      dtype: 7,
      tensor_shape: { dim: [{ size: 2 }] },
      string_val: [Buffer.from('a'), Buffer.from('é')],
    };
    const echoed = await run(handle, ['echo:0'], {}, { feed: [{ name: 's:0', tensor: strings }] });
    expect(tensorFromProto(echoed.tensor[0]!.tensor!).toArray()).toEqual(['a', 'é']);
    const repeated = { dtype: 1, tensor_shape: { dim: [{ size: 3 }] }, float_val: [2.5] };
    const filled = await run(handle, ['big:0'], {}, { feed: [{ name: 'a:0', tensor: repeated }] });
    expect(tensorFromProto(filled.tensor[0]!.tensor!).toArray()).toEqual([2.5, 2.5, 2.5]);
    const large = new tf.NDArray(
      tf.float32,
      [10_000_000],
      Float32Array.from({ length: 1e7 }, (_, i) => i),
    );
    const back = await run(handle, ['big:0'], {}, { feed: [{ name: 'a:0', tensor: tensorToProto(large) }] });
    expect(tensorFromProto(back.tensor[0]!.tensor!).equals(large)).toBe(true);
  });

  it('grow by extension, with versions checked, all or nothing', async () => {
    const handle = await open();
    const more = new tf.Graph();
    more.asDefault(() => {
      tf.importGraphDef(graph.asGraphDef(), { name: '' });
      tf.identity(more.getTensorByName('z:0'), { name: 'late' });
    });
    const graph_def = { node: more.asGraphDef({ fromVersion: graph.version }).node };
    const extend = (current_graph_version: number, def = graph_def) =>
      client.call('ExtendSession', { session_handle: handle, graph_def: def, current_graph_version });
    await expect(extend(7)).rejects.toMatchObject({
      code: code.aborted,
      details: 'Current version is 0 but caller expected 7.',
    });
    const unknown = { name: 'bad', op: 'NoSuchOp', input: [], device: '', attr: {} };
    await expect(extend(0, { node: [...graph_def.node, unknown] })).rejects.toMatchObject({
      code: code.missing,
      details: expect.stringContaining("Op type not registered 'NoSuchOp' in binary running on"),
    });
    expect(await extend(0)).toEqual({ new_graph_version: 1 });
    expect(await values(handle, ['late:0'], { 'x:0': 1, 'w:0': 1 })).toEqual([3]);
    await expect(extend(1)).rejects.toMatchObject({
      code: code.invalid,
      details:
        "GraphDef argument to Extend includes node 'late', which was created by a previous call to Create or Extend in this session.",
    });
  });

  it('refuse graphs of the future, retired ops, and options only a process of its own can have', async () => {
    const create = (request: Parameters<typeof client.call<'CreateSession'>>[1]) =>
      client.call('CreateSession', request);
    await expect(create({ graph_def: { versions: { producer: 9999, min_consumer: 9999 } } })).rejects.toMatchObject({
      code: code.invalid,
      details: expect.stringContaining('min consumer version 9999'),
    });
    await expect(create({ config: { session_inter_op_thread_pool: [{ num_threads: 1 }] } })).rejects.toMatchObject({
      code: code.invalid,
      details: 'Distributed session does not support session thread pool options.',
    });
    const cluster_def = new ClusterSpec({ ps: ['h:1'], worker: ['h:2'] }).asClusterDef();
    await expect(create({ config: { cluster_def } })).rejects.toMatchObject({ code: code.unimplemented });
  });

  it('share variables, unless they ask for their own', async () => {
    const [one, two, alone] = [await open(), await open(), await open({ isolate_session_state: true })];
    await run(one, [], {}, { target: [initOp] });
    expect(await values(one, ['added:0'])).toEqual([2]);
    expect(await values(two, ['read:0'])).toEqual([2]);
    await expect(run(alone, ['read:0'])).rejects.toThrow(new RegExp(`^9: From ${task}:\n.*v.*\n\t \\[\\[{{node `, 's'));
    await run(alone, [], {}, { target: [initOp] });
    expect(await values(alone, ['read:0'])).toEqual([1]);
    expect(await values(two, ['read:0'])).toEqual([2]);
  });

  it('give handles of variables away, and take them back', async () => {
    const handle = await open({ isolate_session_state: true });
    await run(handle, [], {}, { target: [initOp] });
    const name = graph.operations.find((op) => op.type === 'VarHandleOp')!.name;
    const fetched = (await run(handle, [`${name}:0`])).tensor[0]!;
    expect(fetched.tensor!.resource_handle_val).toMatchObject([
      { device: `${task}/device:CPU:0`, container: 'localhost', name: 'v', dtypes_and_shapes: [{ dtype: 1 }] },
    ]);
    expect(await values(handle, ['read:0'], {}, { feed: [fetched] })).toEqual([1]);
    const nameless = { dtype: 20, resource_handle_val: [{ name: 'v' }] };
    await expect(run(handle, ['read:0'], {}, { feed: [{ name: `${name}:0`, tensor: nameless }] })).rejects.toThrow(
      /^3: the fed handle 'v' does not say what it holds/,
    );
  });

  it('end: later calls are refused, and nothing else is', async () => {
    const handle = await open();
    expect(await client.call('CloseSession', { session_handle: handle })).toEqual({});
    const gone = { code: code.aborted, details: `Session ${handle} is not found.` };
    await expect(client.call('RunStep', { session_handle: handle })).rejects.toMatchObject(gone);
    await expect(client.call('ExtendSession', { session_handle: handle })).rejects.toMatchObject(gone);
    await expect(client.call('ListDevices', { session_handle: handle })).rejects.toMatchObject(gone);
    await expect(client.call('CloseSession', { session_handle: handle })).rejects.toMatchObject({
      code: code.aborted,
      details: `Session ${handle} is not found. Possibly, this master has restarted.`,
    });
    expect(await values(await open(), ['y:0'], { 'x:0': 1 })).toEqual([2]);
  });
});

describe('errors of steps', () => {
  const cases: [string, string[], Record<string, number>, Partial<Parameters<typeof run>[3] & object>, RegExp][] = [
    ['unknown fetch', ['zz:0'], {}, {}, /^5: FetchOutputs node zz:0: not found$/],
    ['fetch index', ['y:1'], {}, {}, /^3: FetchOutputs y:1: output index too large, must be < 1$/],
    ['unknown feed', ['y:0'], { 'zz:0': 1 }, {}, /^3: FeedInputs: unable to find feed output zz:0$/],
    ['unknown target', [], {}, { target: ['zz'] }, /^5: .*zz/],
    [
      'unfed placeholder',
      ['y:0'],
      {},
      {},
      /^3: From \/job:local\/replica:0\/task:0:\nYou must feed a value for placeholder tensor 'x' with dtype float.*\n\t \[\[{{node x}}\]\]$/s,
    ],
  ];
  for (const [name, fetch, feeds, rest, words] of cases)
    it(name, async () => {
      const handle = await open();
      await expect(run(handle, fetch, feeds, rest)).rejects.toThrow(words);
      expect(await values(handle, ['y:0'], { 'x:0': 4 })).toEqual([8]);
    });

  it('a feed of another type or a damaged one', async () => {
    const handle = await open();
    const wrong = { name: 'x:0', tensor: tensorToProto(scalar(tf.int32, 1)) };
    await expect(run(handle, ['y:0'], {}, { feed: [wrong] })).rejects.toThrow(/^3: .*x:0/s);
    const short = { dtype: 1, tensor_shape: { dim: [{ size: 3 }] }, tensor_content: new Uint8Array(5) };
    await expect(run(handle, ['y:0'], {}, { feed: [{ name: 'x:0', tensor: short }] })).rejects.toThrow(
      /^3: .*12 bytes/s,
    );
  });

  it('come as a status when the client wants it so', async () => {
    const handle = await open();
    await expect(client.call('RunStep', { session_handle: handle, fetch: ['zz:0'] })).rejects.toMatchObject({
      code: code.missing,
      details: 'FetchOutputs node zz:0: not found',
    });
    const long = 'z'.repeat(5000);
    await expect(client.call('RunStep', { session_handle: handle, fetch: [`${long}:0`] })).rejects.toMatchObject({
      details: expect.stringMatching(/^FetchOutputs node z{3054} \.\.\. \[truncated\]$/),
    });
  });

  it('a request received twice', async () => {
    const handle = await open();
    const again = () => run(handle, ['y:0'], { 'x:0': 1 }, { request_id: 77n });
    await again();
    await expect(again()).rejects.toMatchObject({
      code: code.aborted,
      details: expect.stringContaining('The same RunStep (Master) request was received twice.'),
    });
    await run(handle, ['y:0'], { 'x:0': 1 }, { request_id: 0n });
    await run(handle, ['y:0'], { 'x:0': 1 }, { request_id: 0n });
  });

  it('bytes that are no message', async () => {
    await expect(client.raw('RunStep', Uint8Array.of(0x0a, 0xff, 0xff))).rejects.toMatchObject({ code: code.invalid });
    expect(await values(await open(), ['y:0'], { 'x:0': 1 })).toEqual([2]);
  });

  it('devices that are not here, unless placement is soft', async () => {
    const far = new tf.Graph();
    far.asDefault(() => {
      tf.device('/device:GPU:7', () => tf.constant(1, { name: 'gpu' }));
      tf.device('/job:ps/task:0', () => tf.constant(1, { name: 'ps' }));
      tf.constant(2, { name: 'here' });
    });
    for (const soft of [false, true]) {
      const { session_handle } = await client.call('CreateSession', {
        graph_def: far.asGraphDef(),
        config: { allow_soft_placement: soft, graph_options: { place_pruned_graph: true } },
      });
      handles.push(session_handle);
      const refused =
        /^3: Cannot assign a device for operation .*available devices are \[ \/job:local\/replica:0\/task:0\/device:CPU:0 \]/s;
      if (soft) expect(await values(session_handle, ['gpu:0'])).toEqual([1]);
      else await expect(run(session_handle, ['gpu:0'])).rejects.toThrow(refused);
      await expect(run(session_handle, ['ps:0'])).rejects.toThrow(refused);
      expect(await values(session_handle, ['here:0'])).toEqual([2]);
    }
    const whole = await client.call('CreateSession', { graph_def: far.asGraphDef() });
    handles.push(whole.session_handle);
    await expect(run(whole.session_handle, ['here:0'])).rejects.toThrow(/^3: Cannot assign a device/);
  });
});

describe('stopping', () => {
  /** A session whose graph waits in a host call until the test lets it go. */
  async function waiting(
    config?: Init<ConfigProto>,
  ): Promise<{ handle: string; started: Promise<void>; letGo: () => void; wentOn: () => boolean }> {
    let continued = false;
    let begun = () => {};
    let letGo = () => {};
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const open = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const slow = new tf.Graph();
    slow.asDefault(() => {
      const hold = async () => {
        begun();
        await open;
        return 1;
      };
      const held = tf.jsFunc(hold, [], tf.float32, { name: 'held' });
      const goOn = (x: tf.NDArray) => {
        continued = true;
        return x;
      };
      tf.identity(tf.jsFunc(goOn, [held], tf.float32), { name: 'after' });
    });
    const { session_handle } = await client.call('CreateSession', {
      graph_def: slow.asGraphDef(),
      ...(config && { config }),
    });
    handles.push(session_handle);
    return { handle: session_handle, started, letGo, wentOn: () => continued };
  }

  it('a closed session cancels its steps', async () => {
    const { handle, started, letGo } = await waiting();
    const pending = run(handle, ['after:0']);
    await started;
    await client.call('CloseSession', { session_handle: handle });
    letGo();
    await expect(pending).rejects.toThrow(/^1: .*Session::Close/s);
  });

  it('a step that takes too long fails, by its own limit or the session’s', async () => {
    for (const [config, rest] of [
      [undefined, { options: { timeout_in_ms: 20 } }],
      [{ operation_timeout_in_ms: 20 }, {}],
    ] as const) {
      const { handle, letGo } = await waiting(config);
      await expect(run(handle, ['after:0'], {}, rest)).rejects.toThrow(/^4: /);
      letGo();
    }
  });

  it('a client that gives up ends the step, and the session goes on', async () => {
    const { handle, started, letGo, wentOn } = await waiting();
    const { answer, cancel } = client.begin('RunStep', { session_handle: handle, fetch: ['after:0'] });
    await started;
    const stop = vi.spyOn(StopToken.prototype, 'stop');
    cancel();
    await expect(answer).rejects.toMatchObject({ code: code.cancelled });
    await expect.poll(() => stop.mock.calls.length, { timeout: 30_000 }).toBe(1);
    stop.mockRestore();
    letGo();
    await client.call('ListDevices', {});
    expect(wentOn()).toBe(false);
    expect(await values(handle, ['after:0'], { 'held:0': 5 })).toEqual([5]);
    expect(wentOn()).toBe(true);
  });
});

describe('partial runs', () => {
  const setUp = (session_handle: string, feeds: string[], fetch: string[]) =>
    client.call('PartialRunSetup', { session_handle, feed: feeds, fetch, request_id: 0n });

  it('feed and fetch piece by piece; the last piece brings metadata', async () => {
    const handle = await open();
    const { partial_run_handle } = await setUp(handle, ['x:0', 'w:0'], ['y:0', 'z:0']);
    const first = await run(handle, ['y:0'], { 'x:0': 3 }, { partial_run_handle });
    expect(tensorFromProto(first.tensor[0]!.tensor!).toArray()).toBe(6);
    expect(first.metadata).toBeUndefined();
    const last = await run(handle, ['z:0'], { 'w:0': 1 }, { partial_run_handle });
    expect(tensorFromProto(last.tensor[0]!.tensor!).toArray()).toBe(7);
    expect(last.metadata).toBeDefined();
    await expect(run(handle, ['z:0'], {}, { partial_run_handle })).rejects.toThrow(/^3: .*PartialRunSetup/s);
  });

  it('refuse what was not announced, twice the same, and what cannot be computed yet', async () => {
    const handle = await open();
    const start = async () => (await setUp(handle, ['x:0', 'w:0'], ['y:0', 'z:0'])).partial_run_handle;
    await expect(run(handle, ['z:0'], { 'x:0': 1 }, { partial_run_handle: await start() })).rejects.toThrow(
      /can't be computed from the feeds that have been fed so far/,
    );
    await expect(run(handle, ['big:0'], {}, { partial_run_handle: await start() })).rejects.toThrow(/^3: /);
    await expect(run(handle, [], { 'a:0': 1 }, { partial_run_handle: await start() })).rejects.toThrow(/^3: .*a:0/s);
    const twice = await start();
    await run(handle, ['y:0'], { 'x:0': 1 }, { partial_run_handle: twice });
    await expect(run(handle, [], { 'x:0': 1 }, { partial_run_handle: twice })).rejects.toThrow(/^3: .*x:0/s);
    await expect(setUp(handle, ['zz:0'], ['y:0'])).rejects.toMatchObject({ code: code.invalid });
  });
});

describe('callables', () => {
  it('are made, run many times, and released', async () => {
    const session_handle = await open();
    const { handle } = await client.call('MakeCallable', {
      session_handle,
      options: { feed: ['w:0', 'x:0'], fetch: ['z:0', 'y:0'] },
    });
    const call = (...feeds: number[]) =>
      client.call('RunCallable', {
        session_handle,
        handle,
        feed: feeds.map((x) => tensorToProto(scalar(tf.float32, x))),
      });
    for (const x of [1, 2, 3])
      expect((await call(10, x)).fetch.map((t) => tensorFromProto(t).toArray())).toEqual([2 * x + 10, 2 * x]);
    await expect(call(1)).rejects.toMatchObject({ code: code.invalid, details: 'Expected 2 feed tensors, but got 1' });
    expect(await client.call('ReleaseCallable', { session_handle, handle })).toEqual({});
    await expect(call(1, 2)).rejects.toMatchObject({ code: code.invalid });
    await expect(client.call('ReleaseCallable', { session_handle, handle })).rejects.toMatchObject({
      code: code.invalid,
    });
  });

  it('report errors as a status', async () => {
    const session_handle = await open();
    await expect(client.call('MakeCallable', { session_handle, options: { fetch: ['zz:0'] } })).rejects.toMatchObject({
      code: code.missing,
    });
    const { handle } = await client.call('MakeCallable', { session_handle, options: { fetch: ['y:0'] } });
    await expect(client.call('RunCallable', { session_handle, handle })).rejects.toMatchObject({
      code: code.invalid,
      details: expect.stringContaining('{{node x}}'),
    });
    await expect(
      client.call('MakeCallable', {
        session_handle,
        options: { tensor_connection: [{ from_tensor: 'y:0', to_tensor: 'w:0' }] },
      }),
    ).rejects.toMatchObject({ code: code.unimplemented });
  });
});

describe('the rest', () => {
  it('lists devices, with and without a session', async () => {
    for (const session_handle of ['', await open()]) {
      const { local_device, remote_device } = await client.call('ListDevices', { session_handle });
      expect(local_device.map((d) => [d.name, d.device_type])).toEqual([[`${task}/device:CPU:0`, 'CPU']]);
      expect(local_device[0]!.memory_limit).toBeGreaterThan(0);
      expect(local_device[0]!.incarnation).not.toBe(0n);
      expect(remote_device).toEqual([]);
    }
  });

  it('records times and graphs when asked', async () => {
    const handle = await open();
    const { metadata } = await run(
      handle,
      ['z:0'],
      { 'x:0': 1, 'w:0': 2 },
      { options: { trace_level: 3, output_partition_graphs: true } },
    );
    const [device] = metadata!.step_stats!.dev_stats;
    expect(device!.device).toBe(`${task}/device:CPU:0`);
    expect(device!.node_stats.length).toBeGreaterThan(0);
    expect(device!.node_stats[0]!.all_start_micros).toBeGreaterThan(1.6e15);
    expect(metadata!.partition_graphs[0]!.node.length).toBeGreaterThan(0);
  });

  it('tells costs every so many steps when asked', async () => {
    const handle = await open({ graph_options: { build_cost_model: 3 } });
    const told: boolean[] = [];
    for (let i = 0; i < 7; i++) {
      const { metadata } = await run(handle, ['y:0'], { 'x:0': i });
      told.push(metadata!.cost_graph !== undefined);
      expect(metadata!.step_stats).toBeUndefined();
    }
    expect(told).toEqual([false, false, true, false, false, true, false]);
  });

  it('resets: sessions end, the named containers are forgotten, others stay', async () => {
    const handle = await open();
    await run(handle, [], {}, { target: [initOp] });
    await client.call('Reset', { container: ['other'] });
    await expect(run(handle, ['read:0'])).rejects.toMatchObject({ code: code.aborted });
    expect(await values(await open(), ['read:0'])).toEqual([1]);
    await client.call('Reset', {});
    await expect(run(await open(), ['read:0'])).rejects.toThrow(/^9: /);
  });
});

describe('Server', () => {
  it('finds its place in the cluster, or says what is missing', async () => {
    const cluster = new ClusterSpec({ ps: ['localhost:1'], worker: ['localhost:2', 'localhost:3'] });
    expect(() => new Server(cluster, { start: false })).toThrow('Must specify an explicit `jobName`');
    expect(() => new Server(cluster, { jobName: 'worker', start: false })).toThrow(
      'Must specify an explicit `taskIndex`',
    );
    expect(() => new Server(cluster, { jobName: 'no', start: false })).toThrow("No such job in cluster: 'no'");
    expect(() => new Server(cluster, { jobName: 'ps', taskIndex: 4, start: false })).toThrow('No task with index 4');
    expect(() => new Server({ a: ['localhost'] }, { start: false })).toThrow('Could not parse port');
    expect(() => new Server({ a: ['h:1'] }, { start: false, protocol: 'grpc+verbs' })).toThrow('grpc+verbs');
    const worker = new Server(cluster, {
      jobName: 'worker',
      taskIndex: 1,
      start: false,
      config: { allowSoftPlacement: true },
    });
    expect(worker.target).toBe('grpc://localhost:3');
    expect(worker.serverDef).toMatchObject({ job_name: 'worker', task_index: 1, protocol: 'grpc' });
    expect(worker.serverDef.default_session_config?.allow_soft_placement).toBe(true);
    expect(new Server(worker.serverDef, { start: false }).serverDef).toEqual(worker.serverDef);
  });

  it('refuses a port that is taken, and starts when told', async () => {
    const port = server.target.replace('grpc://', '');
    await expect(new Server({ local: [port] }).ready).rejects.toThrow(tf.errors.UnknownError);
    const later = await Server.createLocalServer({ start: false });
    expect(() => later.target).toThrow('await server.ready');
    await later.start();
    const own = new MasterClient(later.target);
    await own.call('ListDevices', {});
    const joined = later.join();
    await later.stop();
    await joined;
    await expect(own.call('ListDevices', {})).rejects.toMatchObject({ code: 14 });
    own.close();
  });

  it('closes sessions that nobody uses, when told to', async () => {
    const tidy = new Server({ local: ['localhost:0'] }, { sessionGcSeconds: 0.05 });
    await tidy.ready;
    const own = new MasterClient(tidy.target);
    const { session_handle } = await own.call('CreateSession', {});
    await expect.poll(() => tidy.sessionCount, { timeout: 30_000 }).toBe(0);
    await expect(own.call('CloseSession', { session_handle })).rejects.toMatchObject({ code: code.aborted });
    own.close();
    await tidy.stop();
  });
});

describe('ClusterSpec', () => {
  it('answers as Python’s does', () => {
    const spec = new ClusterSpec({ ps: ['ps0:2222', 'ps1:2222'], worker: { 1: 'w1:2222', 3: 'w3:2222' } });
    expect(spec.jobs).toEqual(['ps', 'worker']);
    expect([spec.numTasks('ps'), spec.numTasks('worker')]).toEqual([2, 2]);
    expect(spec.taskIndices('worker')).toEqual([1, 3]);
    expect(spec.taskAddress('worker', 3)).toBe('w3:2222');
    expect(spec.jobTasks('worker')).toEqual([null, 'w1:2222', null, 'w3:2222']);
    expect(spec.asDict()).toEqual({ ps: ['ps0:2222', 'ps1:2222'], worker: { 1: 'w1:2222', 3: 'w3:2222' } });
    expect(new ClusterSpec(spec.asClusterDef()).equals(spec)).toBe(true);
    expect(new ClusterSpec(spec).equals(new ClusterSpec({ ps: ['ps0:2222'] }))).toBe(false);
    expect(new ClusterSpec({ job: ['a:1'] }).jobs).toEqual(['job']);
    expect(() => spec.taskAddress('ps', 2)).toThrow("No task with index 2 in job 'ps'");
    expect(() => spec.numTasks('chief')).toThrow("No such job in cluster: 'chief'");
  });
});
