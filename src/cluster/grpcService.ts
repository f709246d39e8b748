/** @file The wire: MasterService's RPCs as unary gRPC calls with our own protobuf codec. */
import type { ServerUnaryCall, ServiceDefinition, sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js';
import { DataLossError } from '../core/errors.ts';
import * as proto from '../proto/master.ts';
import type { Init, Message } from '../proto/message.ts';
import { codeOf, type Master, wordsOf } from './master.ts';

/** Status texts travel in headers, which are limited; TensorFlow's servers cut at the same length. */
const maxDetails = 3072;

interface Rpc<Request, Response> {
  readonly request: Message<Request>;
  readonly response: Message<Response>;
  handle(master: Master, request: Request, signal: AbortSignal): Init<Response> | Promise<Init<Response>>;
}

const rpc = <Request, Response>(
  request: Message<Request>,
  response: Message<Response>,
  handle: Rpc<NoInfer<Request>, NoInfer<Response>>['handle'],
): Rpc<Request, Response> => ({ request, response, handle });

/** The service's methods by their names on the wire. */
export const masterRpcs = {
  CreateSession: rpc(proto.CreateSessionRequest, proto.CreateSessionResponse, (m, r) => m.createSession(r)),
  ExtendSession: rpc(proto.ExtendSessionRequest, proto.ExtendSessionResponse, (m, r) => m.extendSession(r)),
  PartialRunSetup: rpc(proto.PartialRunSetupRequest, proto.PartialRunSetupResponse, (m, r) => m.partialRunSetup(r)),
  RunStep: rpc(proto.RunStepRequest, proto.RunStepResponse, (m, r, signal) => m.runStep(r, signal)),
  CloseSession: rpc(proto.CloseSessionRequest, proto.CloseSessionResponse, (m, r) => m.closeSession(r)),
  ListDevices: rpc(proto.ListDevicesRequest, proto.ListDevicesResponse, (m, r) => m.listDevices(r)),
  Reset: rpc(proto.ResetRequest, proto.ResetResponse, (m, r) => m.reset(r)),
  MakeCallable: rpc(proto.MakeCallableRequest, proto.MakeCallableResponse, (m, r) => m.makeCallable(r)),
  RunCallable: rpc(proto.RunCallableRequest, proto.RunCallableResponse, (m, r, signal) => m.runCallable(r, signal)),
  ReleaseCallable: rpc(proto.ReleaseCallableRequest, proto.ReleaseCallableResponse, (m, r) => m.releaseCallable(r)),
};

const asBuffer = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const same = (bytes: Buffer) => bytes;

/** Bytes in, bytes out: decoding happens in the handler, where a failure becomes a status. */
export const masterService: ServiceDefinition = Object.fromEntries(
  Object.keys(masterRpcs).map((name) => [
    name,
    {
      path: `/tensorflow.MasterService/${name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    },
  ]),
);

export function masterHandlers(master: Master): UntypedServiceImplementation {
  return Object.fromEntries(
    Object.entries(masterRpcs).map(([name, method]) => [name, handler(master, method as Rpc<object, object>)]), // each method's own messages fit it
  );
}

function handler<Request, Response>(master: Master, method: Rpc<Request, Response>) {
  return async (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>): Promise<void> => {
    const gone = new AbortController();
    let isAnswered = false;
    // The event also comes when an answered call ends, and an abort costs a stack trace.
    call.on('cancelled', () => isAnswered || gone.abort());
    try {
      const response = await method.handle(master, method.request.decode(call.request), gone.signal);
      isAnswered = true;
      reply(null, asBuffer(method.response.encode(response)));
    } catch (error) {
      reply({ code: statusOf(error), details: cut(wordsOf(error)) });
    }
  };
}

/** Bytes that cannot be read are the client's mistake, not lost data of ours. */
const invalidArgument = 3;
const statusOf = (error: unknown) => (error instanceof DataLossError ? invalidArgument : codeOf(error));

function cut(text: string): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxDetails) return text;
  return `${new TextDecoder().decode(bytes.subarray(0, maxDetails))} ... [truncated]`;
}
