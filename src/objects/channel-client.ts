// The client's half of channel.ts.
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import { offAbort, onAbort, reasonOf } from '../base/abort-signals.js';
import { Deferred } from '../base/deferred.js';
import { CONNECT_TIMEOUT, meet } from '../net/connect.js';
import { connectionError } from '../net/errors.js';
import { MessageSocket } from '../net/message-socket.js';
import type { FabricOptions } from '../net/ports.js';
import { areFields, decodeMessage, encodeMessage, MAX_MESSAGE } from './channel.js';
import type { Answer, Call, Exchange } from './exchange.js';
import { CHANNEL } from './protocol.js';

/** Asks a server for a channel. Undefined if it offers none. */
export async function openChannel(
  base: URL,
  fields: Readonly<Record<string, string>>,
  fabric: FabricOptions,
): Promise<ChannelExchange | undefined> {
  const socket = await upgraded(base, fields);
  if (socket === undefined) return undefined;
  const session = await meet(socket, fabric, CONNECT_TIMEOUT);
  session.isOfOneSocket = true;
  session.start();
  const link = new MessageSocket({ maxMessageLength: MAX_MESSAGE });
  return new ChannelExchange(link.connect(Promise.resolve(session)));
}

function upgraded(
  base: URL,
  fields: Readonly<Record<string, string>>,
): Promise<Duplex | undefined> {
  const request = (base.protocol === 'https:' ? requestHttps : requestHttp)(base, {
    path: '/',
    method: 'OPTIONS',
    headers: { ...fields, connection: 'Upgrade', upgrade: CHANNEL },
    agent: false,
  });
  request.setTimeout(CONNECT_TIMEOUT, () =>
    request.destroy(connectionError('ETIMEDOUT', 'no answer', 'connect')),
  );
  request.end();
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', (response: IncomingMessage) => {
      response.resume();
      resolve(undefined);
    });
    request.on('upgrade', (_response, socket: Duplex, head: Buffer) => {
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
  });
}

/** Requests as messages. */
export class ChannelExchange implements Exchange {
  readonly #link: MessageSocket;
  readonly #calls = new Map<number, Deferred<Answer>>();
  #lastId = 0;

  constructor(link: MessageSocket) {
    this.#link = link.unref();
    this.#read();
  }

  /** Whether it has ended. */
  get closed(): boolean {
    return this.#link.closed;
  }

  async #read(): Promise<void> {
    let reason: unknown = connectionError('ECONNRESET', 'the server has ended the channel');
    try {
      for await (const bytes of this.#link) {
        const { id, head, body } = decodeMessage(bytes);
        const [status, fields] = head as readonly unknown[];
        if (typeof status !== 'number' || !areFields(fields)) break;
        const call = this.#take(id);
        call?.resolve({ status, fields, body: Buffer.from(body) });
      }
    } catch (error) {
      reason = error;
    }
    this.#link.destroy();
    for (const id of this.#calls.keys()) this.#take(id)?.reject(reason);
  }

  /** Ends a call. The channel keeps the event loop alive while there are some. */
  #take(id: number): Deferred<Answer> | undefined {
    const call = this.#calls.get(id);
    if (this.#calls.delete(id) && this.#calls.size === 0) this.#link.unref();
    return call;
  }

  async send({ method, path, fields, body, signal }: Call): Promise<Answer> {
    signal?.throwIfAborted();
    this.#lastId = (this.#lastId + 1) >>> 0;
    const id = this.#lastId;
    const call = new Deferred<Answer>();
    if (this.#calls.size === 0) this.#link.ref();
    this.#calls.set(id, call);
    const sent = this.#link.send(encodeMessage(id, [method, path, fields], body));
    sent.catch((error) => this.#take(id)?.reject(error));
    if (signal === undefined) return call.promise;
    const abort = () => {
      this.#link.send(encodeMessage(id, ['ABORT', '', {}])).catch(() => {}); // gone anyway
      this.#take(id)?.reject(reasonOf(signal));
    };
    onAbort(signal, abort);
    return call.promise.finally(() => offAbort(signal, abort));
  }

  close(): void {
    this.#link.destroy();
  }
}
