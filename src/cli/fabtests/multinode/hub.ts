// Rank 0's half of the rendezvous: it accepts all ranks and relays their messages.

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { FrameError, JsonLink } from '../../shared/json-link.js';
import {
  MOST_CONNECTIONS,
  UnidentifiedConnections,
} from '../../shared/unidentified-connections.js';
import type { Root } from './launcher.js';
import {
  type FromHub,
  type FromRank,
  HEARTBEAT_INTERVAL,
  type Hello,
  isHello,
  LONGEST_MESSAGE,
  mismatchOf,
  type Plan,
  silenceOf,
} from './protocol.js';

/** How a hub is opened. */
export interface HubOptions {
  readonly ranks: number;
  readonly plan: Plan;
  /** Seconds to wait for ranks, and then for each of their heartbeats. */
  readonly timeout: number;
  /** Called for each rank that has connected. */
  readonly joined?: () => void;
}

type RankLink = JsonLink<FromRank, FromHub>;

interface Member {
  readonly hello: Hello;
  readonly link: RankLink;
  lastMessageAt: number;
  part: { readonly value: unknown; readonly everyone: boolean } | undefined;
  left: boolean;
}

/** The most connections that have not identified themselves as a rank, besides one for each rank. */
const MOST_UNIDENTIFIED = 64;
/** Bytes of a rank's first message. */
const LONGEST_HELLO = 65_536;
/** Milliseconds for a connection to identify itself. */
const HELLO_TIMEOUT = 10_000;

const LOOPBACK = /^(localhost|127\..*|::1)$/;

/** Relays the messages of ranks, and ends all ranks as soon as one fails. */
export class Hub {
  /** The address at which this process reaches the hub. */
  readonly root: Root;
  /** The address at which other processes reach the hub. Undefined for every address of this host. */
  readonly listensAt: string | undefined;
  readonly #server: Server;
  readonly #options: HubOptions;
  readonly #links = new Set<RankLink>();
  readonly #unidentified: UnidentifiedConnections;
  readonly #members = new Map<number, Member>();
  readonly #pulse: NodeJS.Timeout;
  readonly #opened = performance.now();
  #over: FromHub | undefined;

  /** Listens at the root. Port 0 selects any free port. The hub closes when all ranks have left. */
  static async open({ host, port }: Root, options: HubOptions): Promise<Hub> {
    const server = createServer();
    // A name may resolve to an address of another machine that forwards connections to this one. Then only the
    // port is local.
    server.listen({ port, ...(LOOPBACK.test(host) && { host }) });
    try {
      await once(server, 'listening');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const what =
        code === 'EADDRINUSE'
          ? 'is in use: choose another'
          : `cannot be opened (${code}): choose another`;
      throw new Error(`port ${port} ${what}, with --root HOST:PORT at all ranks`);
    }
    const { port: taken } = server.address() as { port: number };
    return new Hub(server, LOOPBACK.test(host) ? host : undefined, taken, options);
  }

  private constructor(
    server: Server,
    listensAt: string | undefined,
    port: number,
    options: HubOptions,
  ) {
    this.#server = server;
    this.listensAt = listensAt;
    this.root = { host: listensAt ?? '127.0.0.1', port };
    this.#options = options;
    const most = MOST_UNIDENTIFIED + options.ranks;
    this.#unidentified = new UnidentifiedConnections({ most, lifetime: HELLO_TIMEOUT });
    server.maxConnections = MOST_CONNECTIONS + options.ranks;
    server.on('connection', (socket) => this.#accept(socket));
    this.#pulse = setInterval(() => this.#checkRanks(), HEARTBEAT_INTERVAL);
  }

  /** Ends all ranks with a reason. */
  end(reason: string, interrupted = false): void {
    if (this.#over) return;
    this.#over = { type: 'over', reason, interrupted };
    clearInterval(this.#pulse);
    this.#server.unref(); // ranks that connect later also receive the reason
    for (const link of this.#links) this.#dismiss(link, this.#over);
  }

  // A peer that does not close its end, such as a foreign process, must not keep this process
  // alive.
  #dismiss(link: RankLink, message?: FromHub): void {
    if (message !== undefined) link.send(message);
    link.end();
    link.unref();
  }

  #accept(socket: Socket): void {
    let member: Member | undefined;
    const link: RankLink = new JsonLink<FromRank, FromHub>(socket, {
      maxBytes: () => (member ? LONGEST_MESSAGE : LONGEST_HELLO),
      onMessage: (message) => {
        if (member) this.#handle(member, message);
        else if (this.#over === undefined) member = this.#admit(link, socket, message);
        return true;
      },
    });
    if (this.#over) {
      this.#dismiss(link, this.#over);
      return;
    }
    this.#links.add(link);
    this.#unidentified.add(socket);
    link.closed.then((failure) => {
      this.#links.delete(link);
      if (member && !member.left) this.#memberGone(member, failure);
    });
  }

  // A connection that does not belong to a rank was opened by mistake and is ignored.
  #admit(link: RankLink, socket: Socket, message: object): Member | undefined {
    if (!isHello(message)) {
      link.destroy();
      return undefined;
    }
    this.#unidentified.recognize(socket);
    const { ranks, plan } = this.#options;
    const member = {
      hello: message,
      link,
      lastMessageAt: performance.now(),
      part: undefined,
      left: false,
    };
    const mismatch = mismatchOf(message, ranks, plan);
    const other = this.#members.get(message.rank);
    if (mismatch !== undefined) this.end(`${nameOf(member)} ${mismatch}`);
    else if (other !== undefined) {
      const both = [other, member].map(({ hello }) => `process ${hello.pid} of ${hello.host}`);
      this.end(`rank ${message.rank} has connected twice: ${both.join(' and ')}`);
    } else {
      this.#members.set(message.rank, member);
      this.#options.joined?.();
    }
    if (this.#members.size === ranks) this.#server.close();
    return member;
  }

  #handle(member: Member, message: FromRank): void {
    member.lastMessageAt = performance.now();
    if (message.type === 'part') {
      member.part = message;
      this.#collect();
    } else if (message.type === 'failed') {
      this.end(`${nameOf(member)}: ${message.reason}`, message.reason === 'interrupted');
    } else if (message.type === 'bye') {
      member.left = true;
      if ([...this.#members.values()].every(({ left }) => left)) this.#close();
    }
  }

  #collect(): void {
    const { ranks } = this.#options;
    const parts = Array.from({ length: ranks }, (_, rank) => this.#members.get(rank)?.part);
    if (!parts.every((part) => part !== undefined)) return;
    const values = parts.map(({ value }) => value);
    for (const [rank, { link, part }] of this.#members) {
      const share = rank === 0 || part?.everyone;
      link.send({ type: 'collected', ...(share && { values }) });
    }
    for (const member of this.#members.values()) member.part = undefined;
  }

  #memberGone(member: Member, failure: Error): void {
    const how =
      failure instanceof FrameError ? `sent ${failure.message}` : 'has ended unexpectedly';
    this.end(`${nameOf(member)} ${how}`);
  }

  /** Checks for ranks that have not connected and for ranks that are silent. */
  #checkRanks(): void {
    this.#broadcast({ type: 'alive' });
    const { ranks, timeout } = this.#options;
    const now = performance.now();
    if (this.#members.size < ranks) {
      if (now - this.#opened < timeout * 1000) return;
      const missing = Array.from({ length: ranks }, (_, rank) => rank).filter(
        (rank) => !this.#members.has(rank),
      );
      this.end(`${missingText(missing)} of ${ranks} has not connected within ${timeout} s`);
      return;
    }
    const silence = silenceOf(timeout);
    for (const member of this.#members.values()) {
      if (!member.left && now - member.lastMessageAt > silence * 1000) {
        this.end(`${nameOf(member)} has sent nothing for ${silence} s`);
      }
    }
  }

  #broadcast(message: FromHub): void {
    for (const { link } of this.#members.values()) link.send(message);
  }

  #close(): void {
    clearInterval(this.#pulse);
    this.#server.close();
    for (const link of this.#links) this.#dismiss(link);
  }
}

const nameOf = ({ hello: { rank, host } }: Member) => `rank ${rank} (${host})`;

const MOST_NAMED = 8;

function missingText(ranks: readonly number[]): string {
  const named = ranks.slice(0, MOST_NAMED).join(', ');
  const left = ranks.length - MOST_NAMED;
  return `rank ${named}${left > 0 ? ` and ${left} more` : ''}`;
}
