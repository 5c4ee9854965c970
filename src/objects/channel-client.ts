// The client's half of channel.ts.

import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { offAbort, onAbort, reasonOf } from '../base/abort-signals.js';
import { Deferred } from '../base/deferred.js';
import { TimeLimit } from '../base/time-limit.js';
import { Timeouts } from '../base/timeouts.js';
import { CONNECT_TIMEOUT } from '../net/connect.js';
import { connectionError } from '../net/errors.js';
import { ArrivedBody } from './answer-body.js';
import { areFields, decodeMessage, encodeMessage, GIVES_WAY } from './channel.js';
import { type Call, type Exchange, noAnswer, type OpenAnswer } from './exchange.js';
import { Link, MAX_ANSWER } from './link.js';
import { CHANNEL } from './protocol.js';
import { bytesNow } from './request-body.js';

/**
 * Asks a server for a channel. Undefined if it offers none.
 *
 * @param timeout of its calls, in milliseconds.
 * @param signal ends the question.
 */
export async function openChannel(
  base: URL,
  fields: Readonly<Record<string, string>>,
  timeout: number,
  signal: AbortSignal,
): Promise<ChannelExchange | undefined> {
  const found = await upgraded(base, fields, signal);
  return found && new ChannelExchange(found.socket, found.head, timeout);
}

const MAX_ID = 2 ** 32 - 1;

interface Upgraded {
  readonly socket: Socket;
  readonly head: Buffer;
}

function upgraded(
  base: URL,
  fields: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Upgraded | undefined> {
  const request = (base.protocol === 'https:' ? requestHttps : requestHttp)(base, {
    path: '/',
    method: 'OPTIONS',
    headers: { ...fields, connection: 'Upgrade', upgrade: CHANNEL },
    agent: false,
    signal,
  });
  const limit = new TimeLimit(CONNECT_TIMEOUT, () =>
    request.destroy(connectionError('ETIMEDOUT', 'no answer', 'connect')),
  );
  for (const event of ['response', 'upgrade', 'error']) request.once(event, () => limit.clear());
  request.end();
  return new Promise((resolve) => {
    // A server, or a proxy before it, may end connections that ask for what it does not know.
    request.on('error', () => resolve(undefined));
    request.on('response', (response: IncomingMessage) => {
      response.destroy();
      resolve(undefined);
    });
    request.on('upgrade', (_response, socket, head) => {
      socket.on('error', () => {}); // node:http has removed its listener
      resolve({ socket: socket as Socket, head });
    });
  });
}

/** The server has ended the channel for another client, and not begun the call. */
export class GaveWay extends Error {}

/** Requests as messages. */
export class ChannelExchange implements Exchange {
  readonly #link: Link;
  readonly #timeout: number;
  readonly #calls = new Map<number, Deferred<OpenAnswer>>();
  readonly #timeouts = new Timeouts<number>((id) => this.#expire(id), false);
  readonly #ending = new AbortController();
  #lastId = 0;
  #gaveWay = false;

  /** @param timeout of its calls, in milliseconds. */
  constructor(socket: Socket, head: Buffer, timeout: number) {
    this.#timeout = timeout;
    this.#link = new Link(socket, MAX_ANSWER, {
      message: (bytes) => {
        try {
          this.#answered(bytes);
        } catch (error) {
          this.#link.close(error as Error); // it does not speak this protocol
        }
      },
      closed: (error) => {
        const reason = error ?? connectionError('ECONNRESET', 'the channel was closed', 'read');
        for (const id of this.#calls.keys()) this.#take(id)?.reject(reason);
        if (!this.#gaveWay) this.#ending.abort(reason);
        this.#timeouts.close();
      },
    });
    this.#link.start(head);
    this.#link.unref();
  }

  /** Whether it has ended. */
  get closed(): boolean {
    return this.#link.closed;
  }

  /** Aborts when it ends, with the error of its calls, unless it gives way. */
  get ended(): AbortSignal {
    return this.#ending.signal;
  }

  #answered(bytes: Buffer): void {
    const { id, head, body } = decodeMessage(bytes);
    if (id === GIVES_WAY) {
      this.#gaveWay = true;
      this.#link.close(new GaveWay());
      return;
    }
    const [status, fields] = head as readonly unknown[];
    if (typeof status !== 'number' || !areFields(fields))
      throw connectionError('EPROTO', 'the answer is malformed', 'read');
    this.#take(id)?.resolve({ status, fields, body: new ArrivedBody(body) });
  }

  /** Ends a call. The channel keeps the event loop alive while there are some. */
  #take(id: number): Deferred<OpenAnswer> | undefined {
    const call = this.#calls.get(id);
    this.#timeouts.delete(id);
    if (this.#calls.delete(id) && this.#calls.size === 0) this.#link.unref();
    return call;
  }

  // A server that answers nothing is met again by the next call.
  #expire(id: number): void {
    this.#take(id)?.reject(noAnswer(this.#timeout));
    this.#link.close();
  }

  /** @throws GaveWay if the call may be repeated over another channel. */
  async open({ method, path, fields, body, signal }: Call): Promise<OpenAnswer> {
    signal?.throwIfAborted();
    if (this.#gaveWay) throw new GaveWay();
    if (this.closed) throw connectionError('ECONNRESET', 'the server has ended the channel');
    this.#lastId = (this.#lastId % MAX_ID) + 1;
    const id = this.#lastId;
    const message = encodeMessage(id, [method, path, fields], body && bytesNow(body), body?.room);
    const call = new Deferred<OpenAnswer>();
    if (this.#calls.size === 0) this.#link.ref();
    this.#calls.set(id, call);
    this.#timeouts.add(id, this.#timeout);
    this.#link.send(message);
    if (signal === undefined) return call.promise;
    const abort = () => {
      this.#link.send(encodeMessage(id, ['ABORT', '', {}]));
      this.#take(id)?.reject(reasonOf(signal));
    };
    onAbort(signal, abort);
    return call.promise.finally(() => offAbort(signal, abort));
  }

  close(): void {
    this.#link.close();
  }
}
