// The server's half of channel.ts.
import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { inThisContext, ListenContext } from '../base/async-context.js';
import { invalidState } from '../base/errors.js';
import { sourceOfRequest } from '../base/origin.js';
import { switching, takeUpgrades } from '../net/http-upgrades.js';
import { Budget, Reserve, Share } from './budget.js';
import { areFields, decodeMessage, encodeMessage, GIVES_WAY } from './channel.js';
import { bytesOf, type ChannelClient, ChannelRequest, giveRoom } from './channel-request.js';
import { ObjectError } from './errors.js';
import { IDLE } from './http-adapter.js';
import { Link, MAX_REQUEST } from './link.js';
import { CHANNEL, INLINED } from './protocol.js';
import { isFilePart } from './request.js';
import type { ObjectService } from './service.js';

// For another one, the channel gives way that has no call in progress and whose last one is the longest ago. If all have calls,
// further clients send their requests over HTTP.
const MAX_CHANNELS = 1000;
const LEAVE = 1000; // ms for a client to leave a channel that gives way
const MAX_CALLS = 64; // that a channel has in progress. Further ones wait.
// Memory for requests and answers, of a channel and of a server, in bytes. Calls that find none wait, and are not read.
const CHANNEL_MEMORY = 32 * 1024 * 1024;
const SERVER_MEMORY = 256 * 1024 * 1024;
/** The request and the answer of a call that needs nothing of the server's memory: one in each channel. */
const RESERVE = 64 * 1024 + INLINED;

/** The limit of a server's connections, which channels are too. */
interface ChannelLimit {
  /** A connection is a channel now. */
  left(socket: Socket): void;
  /** Another channel is idle. */
  idle(): void;
}

/** The channels of a server. */
export class Channels {
  /** Of all connections of the server, if it has one. */
  limit: ChannelLimit | undefined;
  readonly #service: ObjectService;
  readonly #most: number;
  /** The one whose last message is the longest ago comes first. */
  readonly #channels = new Set<Channel>();
  /** Those that give way, until their clients have left. */
  readonly #leaving = new Set<Channel>();
  readonly #memory = new Budget(SERVER_MEMORY);

  /** @param most channels at the same time. */
  constructor(service: ObjectService, most = MAX_CHANNELS) {
    this.#service = service;
    this.#most = most;
  }

  /** Takes connections of a server that ask for a channel. Returns what ends that. */
  attach(server: Server | SecureServer): () => void {
    const context = new ListenContext(server);
    const stop = takeUpgrades(server, CHANNEL, {
      canTake: () => this.#channels.size < this.#most || this.makeRoom(),
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
    this.limit?.left(socket);
    const channel = new Channel(this.#service, socket, source, this.#memory, {
      used: () => {
        this.#channels.delete(channel);
        this.#channels.add(channel);
      },
      idle: () => this.limit?.idle(),
      closed: () => {
        this.#channels.delete(channel);
        this.#leaving.delete(channel);
      },
    });
    this.#channels.add(channel);
    channel.start(head);
  }

  /** How many there are. */
  get size(): number {
    return this.#channels.size + this.#leaving.size;
  }

  /** How many of them give way already. */
  get leaving(): number {
    return this.#leaving.size;
  }

  /** The channel that no call uses and whose last call is the longest ago. */
  get idle(): Channel | undefined {
    for (const channel of this.#channels) if (channel.idle) return channel;
    return undefined;
  }

  /** Lets a channel give way that no call uses. Returns false if there is none. A client opens another one for its next call. */
  makeRoom(): boolean {
    const channel = this.idle;
    if (channel === undefined) return false;
    this.#channels.delete(channel);
    this.#leaving.add(channel);
    channel.giveWay();
    return true;
  }

  /** Ends a channel that gives way, although its client has not left. */
  endLeaving(): void {
    const [first] = this.#leaving;
    first?.close();
  }

  close(): void {
    for (const channel of [...this.#channels, ...this.#leaving]) channel.close();
  }
}

/** What a channel tells its server. */
export interface ChannelOwner {
  /** A request has arrived. */
  used(): void;
  /** Its last call has ended. */
  idle(): void;
  closed(): void;
}

/** A channel, as a connection brings it. */
export class Channel {
  readonly #owner: ChannelOwner;
  readonly #service: ObjectService;
  readonly #link: Link;
  readonly #gone = new AbortController();
  readonly #client: ChannelClient;
  readonly #calls = new Map<number, ChannelRequest>();
  readonly #memory: readonly Budget[];
  readonly #reserve = new Reserve(RESERVE);
  /** Calls that wait for memory. */
  #waiting = 0;
  #used = performance.now();
  #isLeaving = false;

  constructor(
    service: ObjectService,
    socket: Socket,
    source: string,
    ofServer: Budget,
    owner: ChannelOwner,
  ) {
    this.#owner = owner;
    this.#memory = [new Budget(CHANNEL_MEMORY), ofServer];
    this.#service = service;
    this.#client = { connection: socket, source, gone: this.#gone.signal };
    const linkOwner = {
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
        owner.closed();
      },
    };
    this.#link = new Link(socket, MAX_REQUEST, linkOwner, service.arriving);
  }

  /** @param head what was read behind the head of the upgrade. */
  start(head: Buffer): void {
    this.#link.start(head);
    this.#link.limitSilence(IDLE);
  }

  close(): void {
    this.#link.close();
  }

  /** Ends a channel that is idle. Its client repeats requests that are on their way. */
  giveWay(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#link.finish(encodeMessage(GIVES_WAY, [503, {}]), LEAVE);
  }

  /** When its last request arrived, by performance.now(). */
  get used(): number {
    return this.#used;
  }

  /** Whether no call is in progress. */
  get idle(): boolean {
    return this.#calls.size === 0;
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
    if (this.#isLeaving) return;
    if (this.idle && this.#service.hasLostFabric) {
      this.giveWay();
      return;
    }
    const request = new ChannelRequest(method, url, fields, body, this.#client);
    this.#calls.set(id, request);
    this.#used = performance.now();
    this.#owner.used();
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
    if (this.idle) this.#owner.idle();
  }

  #flow(): void {
    if (this.#calls.size >= MAX_CALLS || this.#waiting > 0) this.#link.pause();
    else this.#link.resume();
  }
}
