// The server's half of channel.ts.
import { closeSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { inThisContext, ListenContext } from '../base/async-context.js';
import { invalidState } from '../base/errors.js';
import { fileOf, readAll } from '../base/file-bytes.js';
import { type Origin, sourceOfRequest } from '../base/origin.js';
import { switching, takeUpgrades } from '../net/http-upgrades.js';
import { Budget, Reserve, Share } from './budget.js';
import { areFields, decodeMessage, encodeMessage, PREFIX } from './channel.js';
import { ObjectError } from './errors.js';
import { IDLE } from './http-adapter.js';
import { Link, MAX_ANSWER, MAX_REQUEST } from './link.js';
import { CHANNEL, INLINED } from './protocol.js';
import { isFilePart, type ObjectRequest, type ObjectResponse } from './request.js';
import type { ObjectService } from './service.js';
import { shortened } from './system-errors.js';

const MAX_CHANNELS = 1000; // further clients send their requests over HTTP
const MAX_CALLS = 64; // that a channel has in progress. Further ones wait.
// Memory for requests and answers, of a channel and of a server, in bytes. Calls that find none wait, and are not read.
const CHANNEL_MEMORY = 32 * 1024 * 1024;
const SERVER_MEMORY = 256 * 1024 * 1024;
/** The request and the answer of a call that needs nothing of the server's memory: one in each channel. */
const RESERVE = 64 * 1024 + INLINED;

const HEAD = 4096; // bytes of an answer's head
const ROOM = PREFIX + INLINED + HEAD;
const MAX_ROOMS = 32;

/** Memory of answers that were sent. With new memory for each, a profile showed much garbage collection. */
const rooms: Buffer[] = [];

function giveRoom(room: Buffer): void {
  if (room.length === ROOM && rooms.length < MAX_ROOMS) rooms.push(room);
}

/** The channels of a server. */
export class Channels {
  readonly #service: ObjectService;
  readonly #channels = new Set<Channel>();
  readonly #memory = new Budget(SERVER_MEMORY);

  constructor(service: ObjectService) {
    this.#service = service;
  }

  /** Takes connections of a server that ask for a channel. Returns what ends that. */
  attach(server: Server | SecureServer): () => void {
    const context = new ListenContext(server);
    const stop = takeUpgrades(server, CHANNEL, {
      canTake: () => this.#channels.size < MAX_CHANNELS,
      take: (socket, head, { headers }) =>
        context.run(() => this.#accept(socket, head, sourceOfRequest(socket, headers))),
    });
    if (stop === undefined) throw invalidState('the server answers for another object server');
    return () => {
      stop();
      context.close();
    };
  }

  #accept(socket: Socket, head: Buffer, source: string): void {
    socket.write(switching(CHANNEL));
    const channel = new Channel(this.#service, socket, source, this.#memory, () =>
      this.#channels.delete(channel),
    );
    this.#channels.add(channel);
    channel.start(head);
  }

  close(): void {
    for (const channel of this.#channels) channel.close();
  }
}

/** Who sends the requests of a channel. */
interface ChannelClient {
  readonly connection: Origin;
  readonly source: string;
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
}

/** A channel, as a connection brings it. */
export class Channel {
  readonly #service: ObjectService;
  readonly #link: Link;
  readonly #gone = new AbortController();
  readonly #client: ChannelClient;
  readonly #calls = new Map<number, ChannelRequest>();
  readonly #memory: readonly Budget[];
  readonly #reserve = new Reserve(RESERVE);
  /** Calls that wait for memory. */
  #waiting = 0;

  constructor(
    service: ObjectService,
    socket: Socket,
    source: string,
    ofServer: Budget,
    closed: () => void,
  ) {
    this.#memory = [new Budget(CHANNEL_MEMORY), ofServer];
    this.#service = service;
    this.#client = { connection: socket, source, gone: this.#gone.signal };
    const owner = {
      message: inThisContext((bytes: Buffer) => {
        try {
          this.#take(bytes);
        } catch {
          this.close(); // it does not speak this protocol
        }
      }),
      closed: () => {
        this.#gone.abort();
        for (const call of this.#calls.values()) call.abort();
        closed();
      },
    };
    this.#link = new Link(socket, MAX_REQUEST, owner, service.arriving);
  }

  /** @param head what was read behind the head of the upgrade. */
  start(head: Buffer): void {
    this.#link.start(head);
    this.#link.limitSilence(IDLE);
  }

  close(): void {
    this.#link.close();
  }

  #take(bytes: Buffer): void {
    const { id, head, body } = decodeMessage(bytes);
    const [method, url, fields] = head as readonly unknown[];
    if (method === 'ABORT') {
      this.#calls.get(id)?.abort();
      return;
    }
    if (typeof method !== 'string' || typeof url !== 'string' || !areFields(fields))
      throw new ObjectError('InvalidArgument');
    if (this.#calls.has(id)) throw new ObjectError('InvalidArgument');
    const request = new ChannelRequest(method, url, fields, body, this.#client);
    this.#calls.set(id, request);
    this.#answer(id, request);
    this.#flow();
  }

  async #answer(id: number, request: ChannelRequest): Promise<void> {
    const share = new Share(this.#reserve, this.#memory);
    try {
      await this.#waitFor(share.take(request.body.length + INLINED));
      if (this.#link.closed) return share.give();
      const { status, fields, body } = await this.#wholeAnswer(request, share);
      const { taken } = request;
      const message = encodeMessage(id, [status, fields], body, taken);
      if (this.#link.closed) return share.give();
      this.#link.send(message, () => {
        if (taken) giveRoom(taken);
        share.give();
        this.#end(id);
      });
    } catch {
      share.give();
      this.close();
    }
  }

  async #waitFor(memory: Promise<void> | undefined): Promise<void> {
    if (memory === undefined) return;
    this.#waiting += 1;
    this.#flow();
    await memory;
    this.#waiting -= 1;
    this.#flow();
  }

  async #wholeAnswer(request: ChannelRequest, share: Share) {
    const answer = await this.#service.handle(request);
    try {
      const { body } = answer;
      if (isFilePart(body)) {
        share.give(); // who holds memory does not wait for more
        await this.#waitFor(share.take(body.end - body.start));
      }
      return { ...answer, body: await bytesOf(body, request) };
    } catch (error) {
      const refusal = this.#service.refusal(request, error);
      return { ...refusal, body: await bytesOf(refusal.body, request) };
    }
  }

  // A client that does not read its answers is not read either.
  #end(id: number): void {
    this.#calls.delete(id);
    this.#flow();
  }

  #flow(): void {
    if (this.#calls.size >= MAX_CALLS || this.#waiting > 0) this.#link.pause();
    else this.#link.resume();
  }
}

class ChannelRequest implements ObjectRequest {
  readonly method: string;
  readonly url: string;
  readonly fields: Record<string, string>;
  readonly body: Uint8Array;
  readonly #client: ChannelClient;
  #aborting: AbortController | undefined;
  /** The room that was asked for. */
  taken: Buffer | undefined;

  constructor(
    method: string,
    url: string,
    fields: Record<string, string>,
    body: Uint8Array,
    client: ChannelClient,
  ) {
    this.method = method;
    this.url = url;
    this.fields = fields;
    this.body = body;
    this.#client = client;
  }

  get connection(): Origin {
    return this.#client.connection;
  }

  get source(): string {
    return this.#client.source;
  }

  /** Made only where something can be aborted. */
  get signal(): AbortSignal {
    this.#aborting ??= new AbortController();
    if (this.#client.gone.aborted) this.#aborting.abort();
    return this.#aborting.signal;
  }

  abort(): void {
    this.#aborting ??= new AbortController();
    this.#aborting.abort();
  }

  room(): Uint8Array {
    this.taken ??= rooms.pop() ?? Buffer.allocUnsafeSlow(ROOM);
    return this.taken.subarray(PREFIX, PREFIX + INLINED);
  }

  quietly<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }
}

// The bytes of a file are read into the memory of their message.
async function bytesOf(
  body: ObjectResponse['body'],
  request: ChannelRequest,
): Promise<Uint8Array | undefined> {
  if (typeof body === 'string') return Buffer.from(body);
  if (!isFilePart(body)) return body;
  const { fd, start, end } = body;
  try {
    const length = end - start;
    if (length > MAX_ANSWER / 2) throw new ObjectError('EntityTooLarge');
    request.taken = Buffer.allocUnsafeSlow(PREFIX + length + HEAD);
    const bytes = request.taken.subarray(PREFIX, PREFIX + length);
    if ((await readAll(fileOf(fd), bytes, start)) < length) throw shortened();
    return bytes;
  } finally {
    closeSync(fd);
  }
}
