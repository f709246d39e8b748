/** @file A client of the MasterService written by hand: one method per RPC, plain records in and out. */
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { masterRpcs } from '../../src/cluster/grpcService.ts';
import type { Init, Message, MessageType } from '../../src/proto/message.ts';

type Rpcs = typeof masterRpcs;
type RequestOf<N extends keyof Rpcs> = Init<MessageType<Rpcs[N]['request']>>;
type ResponseOf<N extends keyof Rpcs> = MessageType<Rpcs[N]['response']>;

/** A call on its way: its answer, and how to give up on it. */
export interface Pending<T> {
  readonly answer: Promise<T>;
  cancel(): void;
}

export class MasterClient {
  private readonly client: Client;
  constructor(target: string) {
    this.client = new Client(target.replace('grpc://', ''), credentials.createInsecure(), {
      'grpc.max_receive_message_length': -1,
      'grpc.max_send_message_length': -1,
    });
  }

  begin<N extends keyof Rpcs>(name: N, request: RequestOf<N>): Pending<ResponseOf<N>> {
    const { request: input, response: output } = masterRpcs[name] as {
      request: Message<unknown>;
      response: Message<unknown>;
    }; // the pair that belongs to N
    let cancel = () => {};
    const answer = new Promise<ResponseOf<N>>((resolve, reject) => {
      const call = this.client.makeUnaryRequest(
        `/tensorflow.MasterService/${name}`,
        (r: RequestOf<N>) => Buffer.from(input.encode(r)),
        (bytes: Buffer) => output.decode(bytes) as ResponseOf<N>, // as above
        request,
        (error: ServiceError | null, response) => (error ? reject(error) : resolve(response!)),
      );
      cancel = () => call.cancel();
    });
    return { answer, cancel };
  }

  call<N extends keyof Rpcs>(name: N, request: RequestOf<N>): Promise<ResponseOf<N>> {
    return this.begin(name, request).answer;
  }

  /** Sends bytes as they are. */
  raw(name: keyof Rpcs, bytes: Uint8Array): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const same = (b: Buffer) => b;
      this.client.makeUnaryRequest(
        `/tensorflow.MasterService/${name}`,
        same,
        same,
        Buffer.from(bytes),
        (error, response) => (error ? reject(error) : resolve(response!)),
      );
    });
  }

  close(): void {
    this.client.close();
  }
}
