/** @file Server: a process that other programs, in any language TensorFlow has, can run their graphs on. */
import { createRequire } from 'node:module';
import { FailedPreconditionError, InvalidArgumentError, UnimplementedError, UnknownError } from '../core/errors.ts';
import { checkOptions, type OptionNames } from '../graph/options.ts';
import type { ServerDef } from '../proto/master.ts';
import { checkConfig } from '../runtime/config.ts';
import { type DeviceInfo, deviceInfos, openDevice } from '../runtime/devices.ts';
import { ClusterSpec } from './clusterSpec.ts';
import { masterHandlers, masterService } from './grpcService.ts';
import { Master } from './master.ts';
import { makeServerDef, type ServerIdentity, type ServerLike } from './serverDef.ts';

export interface ServerOptions extends ServerIdentity {
  /** False leaves the start to `start()`. */
  readonly start?: boolean | undefined;
  /** The address to listen on; loopback when left out, `0.0.0.0` for every network. */
  readonly host?: string | undefined;
  /** Sessions unused for so long are closed; 0, as when left out, keeps them. */
  readonly sessionGcSeconds?: number | undefined;
}

const optionNames: OptionNames<ServerOptions> = {
  jobName: true,
  taskIndex: true,
  protocol: true,
  config: true,
  start: true,
  host: true,
  sessionGcSeconds: true,
};

/** gRPC is loaded by the first server: most programs have none, and loading it takes nearly half as long as loading the library. */
const loadGrpc = (): typeof import('@grpc/grpc-js') => createRequire(import.meta.url)('@grpc/grpc-js');

/** How long running calls may take to end when the server stops. */
const graceMilliseconds = 1000;
const loopback = '127.0.0.1';

/**
 * Serves TensorFlow's session protocol over gRPC for this process.
 *
 * @example
 * const server = await tf.train.Server.createLocalServer();
 * console.log(server.target); // grpc://localhost:41234
 */
export class Server {
  readonly serverDef: ServerDef;
  /** Settles when the server listens, or has failed to. */
  readonly ready: Promise<void>;
  private readonly grpc = new (loadGrpc().Server)({
    'grpc.max_receive_message_length': -1,
    'grpc.max_send_message_length': -1,
  });
  private readonly master: Master;
  private readonly devices: readonly DeviceInfo[];
  private readonly address: { readonly host: string; readonly port: number };
  private boundPort: number | undefined;
  private begin: () => void = () => {};
  private readonly stopped: Promise<void>;
  private markStopped: () => void = () => {};

  constructor(server: ServerLike, options: ServerOptions = {}) {
    checkOptions('tf.train.Server', options, optionNames);
    if (options.config) checkConfig(options.config);
    this.serverDef = makeServerDef(server, options);
    const { job_name, task_index, protocol, default_session_config, cluster } = this.serverDef;
    if (protocol !== 'grpc')
      throw new UnimplementedError(`No server factory registered for the protocol '${protocol}'; use 'grpc'.`);
    const text = new ClusterSpec(cluster ?? { job: [] }).taskAddress(job_name, task_index);
    this.address = { host: options.host ?? loopback, port: portOf(text) };
    const device = openDevice(options.config);
    const task = `/job:${job_name}/replica:0/task:${task_index}`;
    this.devices = deviceInfos(device, options.config, task);
    this.master = new Master({
      device,
      task,
      devices: this.devices,
      defaultConfig: default_session_config,
      sessionGcSeconds: options.sessionGcSeconds,
    });
    this.grpc.addService(masterService, masterHandlers(this.master));
    this.stopped = new Promise((resolve) => {
      this.markStopped = resolve;
    });
    const started = new Promise<void>((resolve) => {
      this.begin = resolve;
    });
    this.ready = started.then(() => this.bind());
    if (options.start ?? true) this.begin();
  }

  /** A server of one task on a port that is free. */
  static async createLocalServer(options: Pick<ServerOptions, 'config' | 'start'> = {}): Promise<Server> {
    const server = new Server({ local: ['localhost:0'] }, options);
    if (options.start ?? true) await server.ready;
    return server;
  }

  /** Where sessions find this server: `grpc://localhost:2222`. */
  get target(): string {
    const port = this.boundPort ?? this.address.port;
    if (port === 0)
      throw new FailedPreconditionError('The port of the server is chosen when it starts: await server.ready first.');
    const { host } = this.address;
    return `grpc://${host === loopback || host === '0.0.0.0' || host === '::' ? 'localhost' : host}:${port}`;
  }

  /** How many sessions clients have open. */
  get sessionCount(): number {
    return this.master.sessionCount;
  }

  /** The devices of this server. */
  listDevices(): readonly DeviceInfo[] {
    return this.devices;
  }

  async start(): Promise<void> {
    this.begin();
    await this.ready;
  }

  /** Waits until the server has stopped. */
  async join(): Promise<void> {
    await this.ready;
    await this.stopped;
  }

  /** Closes all sessions and the port. */
  async stop(): Promise<void> {
    this.master.close();
    const force = setTimeout(() => this.grpc.forceShutdown(), graceMilliseconds);
    await new Promise<void>((resolve) => {
      this.grpc.tryShutdown(() => resolve());
    });
    clearTimeout(force);
    this.markStopped();
  }

  private async bind(): Promise<void> {
    const { host, port } = this.address;
    const place = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    this.boundPort = await new Promise<number>((resolve, reject) => {
      this.grpc.bindAsync(place, loadGrpc().ServerCredentials.createInsecure(), (error, bound) => {
        if (error)
          reject(new UnknownError(`Could not start gRPC server on ${place}: ${error.message}`, { cause: error }));
        else resolve(bound);
      });
    });
  }
}

function portOf(address: string): number {
  const match = /:(\d+)$/.exec(address);
  const port = match ? Number(match[1]) : -1;
  if (port < 0 || port > 65535)
    throw new InvalidArgumentError(`Could not parse port for local server from "${address}"; write it as host:port.`);
  return port;
}
