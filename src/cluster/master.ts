/** @file The MasterService: TensorFlow's session protocol, answered by engines in this process. */
import { randomBytes } from 'node:crypto';
import { AbortedError, OpError, UnimplementedError } from '../core/errors.ts';
import type { ConfigProto } from '../proto/config.ts';
import { CallableOptions, ConfigProto as ConfigMessage } from '../proto/config.ts';
import type { DeviceAttributes } from '../proto/device.ts';
import { GraphDef } from '../proto/graph.ts';
import type * as m from '../proto/master.ts';
import type { Init } from '../proto/message.ts';
import { TensorProto } from '../proto/tensor.ts';
import type { Device, DeviceInfo } from '../runtime/devices.ts';
import { ResourceManager } from '../runtime/resources.ts';
import { MasterSession, type Step } from './masterSession.ts';
import { RequestIds } from './requestIds.ts';

const internal = 13;

export interface MasterOptions {
  readonly device: Device;
  /** `/job:local/replica:0/task:0` */
  readonly task: string;
  /** The names under which clients know the device. */
  readonly devices: readonly DeviceInfo[];
  /** Options of sessions whose clients give none. */
  readonly defaultConfig?: ConfigProto | undefined;
  /** Sessions unused for so long are closed; 0 keeps them. */
  readonly sessionGcSeconds?: number | undefined;
}

/** All sessions of this process's clients. One method per RPC; each throws errors with TensorFlow's codes. */
export class Master {
  private readonly sessions = new Map<string, MasterSession>();
  /** Variables and other state of sessions that do not ask for their own. */
  private readonly shared = new ResourceManager();
  private readonly requests = new RequestIds();
  private readonly incarnation = randomBytes(8).readBigUInt64LE();
  private readonly collector: NodeJS.Timeout | undefined;

  constructor(private readonly options: MasterOptions) {
    const limit = (options.sessionGcSeconds ?? 0) * 1000;
    if (limit > 0) this.collector = setInterval(() => this.closeIdle(limit), limit / 2).unref();
  }

  get sessionCount(): number {
    return this.sessions.size;
  }

  createSession({ graph_def, config }: m.CreateSessionRequest): Init<m.CreateSessionResponse> {
    const { device, task, defaultConfig } = this.options;
    const chosen = config ?? defaultConfig ?? ConfigMessage.create();
    if ((chosen.cluster_def?.job ?? []).reduce((n, { tasks }) => n + Object.keys(tasks).length, 0) > 1)
      throw new UnimplementedError('A session over several tasks is not supported by this server; it is one process.');
    const resources = chosen.isolate_session_state ? new ResourceManager() : this.shared;
    const deviceNames = this.options.devices.map(({ name }) => name);
    const session = new MasterSession({ device, task, config: chosen, resources, deviceNames });
    session.add(graph_def ?? GraphDef.create());
    const session_handle = randomBytes(8).toString('hex');
    this.sessions.set(session_handle, session);
    return { session_handle, graph_version: 0 };
  }

  extendSession(request: m.ExtendSessionRequest): Init<m.ExtendSessionResponse> {
    const session = this.find(request.session_handle);
    return {
      new_graph_version: session.extend(request.graph_def ?? GraphDef.create(), request.current_graph_version),
    };
  }

  async runStep(request: m.RunStepRequest, signal: AbortSignal): Promise<Init<m.RunStepResponse>> {
    const session = this.find(request.session_handle);
    this.requests.checkNew(request.request_id, 'RunStep');
    try {
      const step: Step = {
        feeds: new Map(request.feed.map(({ name, tensor }) => [name, session.read(tensor ?? TensorProto.create())])),
        fetches: request.fetch,
        targets: request.target,
        options: request.options,
        signal,
      };
      const handle = request.partial_run_handle;
      const { values, metadata } = await (handle === '' ? session.run(step) : session.runPartially(handle, step));
      const tensor = request.fetch.map((name, i) => ({ name, tensor: session.write(values[i]!) }));
      return { tensor, ...(metadata && { metadata }) };
    } catch (error) {
      if (!request.store_errors_in_response_body) throw error;
      return { status_code: codeOf(error), status_error_message: wordsOf(error) };
    }
  }

  partialRunSetup(request: m.PartialRunSetupRequest): Init<m.PartialRunSetupResponse> {
    const session = this.find(request.session_handle);
    this.requests.checkNew(request.request_id, 'PartialRunSetup');
    return { partial_run_handle: session.setUpPartialRun(request.feed, request.fetch, request.target) };
  }

  makeCallable(request: m.MakeCallableRequest): Init<m.MakeCallableResponse> {
    const session = this.find(request.session_handle);
    this.requests.checkNew(request.request_id, 'MakeCallable');
    return { handle: session.makeCallable(request.options ?? CallableOptions.create()) };
  }

  async runCallable(request: m.RunCallableRequest, signal: AbortSignal): Promise<Init<m.RunCallableResponse>> {
    const session = this.find(request.session_handle);
    this.requests.checkNew(request.request_id, 'RunCallable');
    const feeds = request.feed.map((tensor) => session.read(tensor));
    const { values, metadata } = await session.runCallable(request.handle, feeds, signal);
    return { fetch: values.map((value) => session.write(value)), ...(metadata && { metadata }) };
  }

  releaseCallable(request: m.ReleaseCallableRequest): Init<m.ReleaseCallableResponse> {
    this.find(request.session_handle).releaseCallable(request.handle);
    return {};
  }

  closeSession({ session_handle }: m.CloseSessionRequest): Init<m.CloseSessionResponse> {
    const session = this.sessions.get(session_handle);
    if (!session)
      throw new AbortedError(`Session ${session_handle} is not found. Possibly, this master has restarted.`);
    this.sessions.delete(session_handle);
    session.close();
    return {};
  }

  listDevices({ session_handle }: m.ListDevicesRequest): Init<m.ListDevicesResponse> {
    if (session_handle !== '') this.find(session_handle);
    return { local_device: this.options.devices.map((info) => this.deviceAttributes(info)), remote_device: [] };
  }

  /** Forgets the named containers (the default one when none is named) and closes every session. */
  reset({ container }: m.ResetRequest): Init<m.ResetResponse> {
    this.shared.clear(container.length === 0 ? ['localhost'] : container);
    this.closeAll();
    return {};
  }

  close(): void {
    clearInterval(this.collector);
    this.closeAll();
  }

  private closeAll(): void {
    for (const session of this.sessions.values()) session.close();
    this.sessions.clear();
  }

  private closeIdle(limit: number): void {
    const before = performance.now() - limit;
    for (const [handle, session] of this.sessions)
      if (session.lastUsed < before && !session.isBusy) {
        this.sessions.delete(handle);
        session.close();
      }
  }

  private find(handle: string): MasterSession {
    const session = this.sessions.get(handle);
    if (!session) throw new AbortedError(`Session ${handle} is not found.`);
    session.lastUsed = performance.now();
    return session;
  }

  private deviceAttributes(info: DeviceInfo): Init<DeviceAttributes> {
    return {
      name: info.name,
      device_type: info.deviceType,
      memory_limit: info.memoryLimitBytes,
      locality: {},
      incarnation: this.incarnation,
      physical_device_desc: info.physicalDeviceDesc,
      xla_global_id: -1,
    };
  }
}

/** The status code of any failure; what has none is a mistake of ours. */
export function codeOf(error: unknown): number {
  return error instanceof OpError ? error.code : internal;
}

export function wordsOf(error: unknown): string {
  if (error instanceof OpError) return error.message;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
