// A rank's connection to the hub at rank 0.
import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectError, connectTo } from '../../shared/connect.js';
import { JsonLink } from '../../shared/json-link.js';
import type { Membership, Root } from './launcher.js';
import {
  type FromHub,
  type FromRank,
  HEARTBEAT_INTERVAL,
  LONGEST_MESSAGE,
  type Plan,
  PROTOCOL,
  silenceOf,
} from './protocol.js';

/** The measurement has ended early, at all ranks. */
export class GroupOver extends Error {
  override readonly name = 'GroupOver';
  /** Whether rank 0 has the reason. If it has, it prints the reason. */
  readonly knownToRoot: boolean;
  /** Whether the user ended it. */
  readonly interrupted: boolean;

  constructor(reason: string, knownToRoot: boolean, interrupted = false) {
    super(reason);
    this.knownToRoot = knownToRoot;
    this.interrupted = interrupted;
  }
}

/** How a rank joins. */
export interface JoinOptions {
  readonly plan: Plan;
  /** Seconds to wait for rank 0, and then for each of its heartbeats. */
  readonly timeout: number;
  /** Aborts the wait for rank 0. */
  readonly signal: AbortSignal;
}

const CLOSE_TIMEOUT = 1000; // ms to send the last messages

/** All ranks, as one of them sees them. */
export class Group {
  readonly rank: number;
  readonly ranks: number;
  readonly #link: JsonLink<FromHub, FromRank>;
  readonly #pulse: NodeJS.Timeout;
  #lastMessageAt = performance.now();
  #waiting: { resolve: (values: unknown) => void; reject: (error: Error) => void } | undefined;
  #trouble: GroupOver | undefined;
  #left = false;

  static async join({ rank, ranks, root }: Membership, options: JoinOptions): Promise<Group> {
    const socket = await reach(root, options);
    const group = new Group(rank, ranks, socket, options.timeout);
    const { plan } = options;
    const host = hostname();
    group.#send({
      type: 'hello',
      libfabric: 'ranks',
      protocol: PROTOCOL,
      rank,
      ranks,
      host,
      pid: process.pid,
      plan,
    });
    return group;
  }

  private constructor(rank: number, ranks: number, socket: Socket, timeout: number) {
    this.rank = rank;
    this.ranks = ranks;
    this.#link = new JsonLink<FromHub, FromRank>(socket, {
      maxBytes: () => LONGEST_MESSAGE,
      onMessage: (message) => {
        this.#handle(message);
        return true;
      },
    });
    this.#link.closed.then(() => {
      if (!this.#left) this.#end(new GroupOver('rank 0 has ended unexpectedly', false));
    });
    const silence = silenceOf(timeout);
    this.#pulse = setInterval(() => {
      this.#send({ type: 'alive' });
      if (performance.now() - this.#lastMessageAt > silence * 1000) {
        this.#end(new GroupOver(`rank 0 has sent nothing for ${silence} s`, false));
      }
    }, HEARTBEAT_INTERVAL);
  }

  /** Why the measurement has ended early, once it has. */
  get trouble(): GroupOver | undefined {
    return this.#trouble;
  }

  /**
   * Contributes a value. Resolves to the values of all ranks, in their order, when all have
   * contributed.
   */
  async share<T>(value: T): Promise<T[]> {
    return (await this.#contribute(value, true)) as T[];
  }

  /** Like share(), but only rank 0 receives the values. For the other ranks it is a barrier. */
  async collect<T>(value: T): Promise<T[] | undefined> {
    return (await this.#contribute(value, false)) as T[] | undefined;
  }

  /** Ends all ranks with a reason. */
  fail(reason: string): void {
    if (this.#trouble === undefined) this.#send({ type: 'failed', reason });
  }

  /** The hub's reason for a failure: for example, a rank has died. */
  async explanation(milliseconds: number): Promise<GroupOver | undefined> {
    const end = performance.now() + milliseconds;
    while (this.#trouble === undefined && performance.now() < end) await sleep(10);
    return this.#trouble;
  }

  /** Leaves the group. Rank 0 stays until all other ranks have left. */
  async leave(): Promise<void> {
    this.#left = true;
    const trouble = this.#trouble;
    // If rank 0 was only slow, it must end the others.
    if (trouble && !trouble.knownToRoot) this.#send({ type: 'failed', reason: trouble.message });
    else this.#send({ type: 'bye' });
    clearInterval(this.#pulse);
    this.#link.end();
    await Promise.race([this.#link.closed, sleep(CLOSE_TIMEOUT, undefined, { ref: false })]);
  }

  #contribute(value: unknown, everyone: boolean): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#trouble) {
        reject(this.#trouble);
        return;
      }
      this.#waiting = { resolve, reject };
      this.#send({ type: 'part', value, everyone });
    });
  }

  #handle(message: FromHub): void {
    this.#lastMessageAt = performance.now();
    if (message.type === 'collected') {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.resolve(message.values);
    } else if (message.type === 'over') {
      this.#end(new GroupOver(message.reason, true, message.interrupted));
    }
  }

  #send(message: FromRank): void {
    this.#link.send(message);
  }

  #end(trouble: GroupOver): void {
    this.#trouble ??= trouble;
    clearInterval(this.#pulse);
    this.#waiting?.reject(this.#trouble);
    this.#waiting = undefined;
  }
}

/** Connects to the hub. Retries while it does not listen yet. */
async function reach({ host, port }: Root, { timeout, signal }: JoinOptions): Promise<Socket> {
  try {
    return await connectTo(host, port, { timeout: timeout * 1000, retries: () => true, signal });
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    const why = error.code ?? 'no answer';
    throw new Error(`no rank 0 at ${host}, port ${port}, within ${timeout} s (${why})`);
  }
}
