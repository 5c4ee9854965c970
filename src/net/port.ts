import { withoutContext } from '../base/async-context.js';
import { expecting } from '../base/channels.js';
import { FabricError } from '../base/errors.js';
import type { Peer } from '../base/peer.js';
import { throwLater } from '../base/throw-later.js';
import { type Handle, native } from '../contract/native.js';
import type { Endpoint } from '../endpoint/compose.js';
import { Kind, type RequestOwner } from '../engine/requests.js';
import { open } from '../open.js';
import { connectionError } from './errors.js';

/** How sides learn that a peer or a NIC is lost. */
export interface Heartbeat {
  /** Milliseconds without packets until this side sends one. Default: 1000. */
  readonly interval?: number;
  /** Milliseconds without packets of the peer until a NIC counts as lost: more than its interval. Default: 5000. */
  readonly limit?: number;
}

/** Which endpoint carries packets. */
export interface PortOptions {
  /** efa, shm, tcp, ... If omitted, packets travel over the control connection. */
  readonly provider?: string;
  /**
   * Whether a native thread or the event loop runs the endpoint. Default: 'thread'. Then the event loop runs it too, for
   * 0.2 ms after packets have arrived.
   */
  readonly driver?: 'thread' | 'loop';
  /** The local address of the endpoint, for providers over IP. */
  readonly node?: string;
  /** When a peer counts as lost. */
  readonly heartbeat?: Heartbeat;
  /** The name of its domain. */
  readonly domain?: string;
  /** Tells endpoints of one domain apart. */
  readonly number?: number;
}

/** The most bytes of a packet: with 32 KiB of a stream. native/net/buffer_pool.h has memory for them. */
const PACKET = 32 * 1024 + 192;
const HEARTBEAT: Required<Heartbeat> = { interval: 1000, limit: 5000 };
/** Milliseconds. The answer of a service often comes within it. Half a round trip takes 7 instead of 16 us (shm). */
const BUSY_POLL = 0.2;

type PortEndpoint = Endpoint<'FI_EP_RDM', 'FI_MSG'>;

/** Whether the device reads the memory of peers, and not the CPU of the peer. */
function readsByItself(endpoint: PortEndpoint): boolean {
  try {
    return !expecting('FI_ENOPROTOOPT', () => endpoint.getOption('FI_OPT_EFA_EMULATED_READ'));
  } catch {
    return true; // shm, and efa of 1.17, which has no such option
  }
}

// An endpoint of shm takes 256 peers in its life, and one of efa 128 on its own host.
const MOST_LOCAL = 100;
// Endpoints that one session opens before it gives up: others may take their room.
const MOST_FRESH = 4;
const GID = 16; // bytes: the NIC, in an address of efa

/** A port that is open, or is being opened. */
class Opened {
  users = 0;
  port: Port | undefined;
  constructor(readonly opening: Promise<Port>) {}
}

/** A session that needs room for its packets. */
export interface Place {
  readonly session: number;
  /** Packets that it may send at first. */
  readonly allowance: number;
}

/** A session whose packets a port carries. */
export interface Carried {
  readonly number: number;
  readonly handle: Handle<'Session'>;
  /** Takes an event of the session. */
  told(kind: number, stream: number, value: number): void;
}

/** An endpoint that carries the packets of many sessions: native/net/port.h. */
export class Port implements RequestOwner {
  readonly packetSize: number;
  /** Whether it reads long bytes from the memory of peers, and they from its. */
  readonly reads: boolean;
  readonly #endpoint: PortEndpoint;
  #opened: Opened | undefined;
  /** The peers on this host that it has met. */
  readonly #local = new Set<string>();
  readonly #handle: Handle<'Port'>;
  readonly #sessions = new Map<number, Carried>();
  /** Peers that are being removed, by their addresses. */
  readonly #leaving = new Map<string, Promise<void>>();
  #references = 0;

  private constructor(endpoint: PortEndpoint, reads: boolean, heartbeat: Required<Heartbeat>) {
    this.reads = reads;
    const { engine } = endpoint.limits;
    this.#endpoint = endpoint;
    this.packetSize = Math.min(PACKET, endpoint.maxMsgSize);
    this.#handle = native.netPort(engine.handle, endpoint.handle, {
      watch: engine.begin(Kind.Owner, this),
      packetSize: this.packetSize,
      reads,
      heartbeat: heartbeat.interval,
      silence: heartbeat.limit,
    });
    endpoint.unref();
  }

  // The ports of this thread, by their options. A port has room for so many sessions; then there is another one.
  static readonly #ports = new Map<string, Opened[]>();

  /**
   * A port with these options. Each call that succeeds needs a release(). With `place`, the port has room for the session,
   * and keeps its packets until carry(): leave() ends that.
   */
  static async take(options: PortOptions, place?: Place): Promise<Port> {
    const { provider, driver, node, domain, number } = options;
    const { interval = HEARTBEAT.interval, limit = HEARTBEAT.limit } = options.heartbeat ?? {};
    const key = JSON.stringify([provider, driver, node, domain, number, interval, limit]);
    const tried = new Set<Opened>();
    for (let fresh = 0; fresh < MOST_FRESH; ) {
      const ports = Port.#ports.get(key) ?? [];
      Port.#ports.set(key, ports);
      let opened = ports.find((each) => !each.port?.isWorn && !tried.has(each));
      if (opened === undefined) {
        opened = new Opened(withoutContext(() => Port.#open(options, { interval, limit })));
        ports.push(opened);
        fresh += 1;
      }
      tried.add(opened);
      const port = await Port.#joined(opened);
      if (!place || native.netExpect(port.#handle, place.session, place.allowance)) return port;
      port.release();
    }
    throw connectionError('ENOBUFS', 'there is no memory for the packets of another session');
  }

  static async #joined(opened: Opened): Promise<Port> {
    opened.users += 1;
    try {
      const port = await opened.opening;
      opened.port = port;
      port.#opened = opened;
      return port;
    } catch (error) {
      Port.#forget(opened);
      throw error;
    }
  }

  static #forget(opened: Opened): void {
    for (const [key, ports] of Port.#ports) {
      const rest = ports.filter((each) => each !== opened);
      if (rest.length === 0) Port.#ports.delete(key);
      else Port.#ports.set(key, rest);
    }
  }

  static async #open(
    { provider, driver, node, domain }: PortOptions,
    heartbeat: Required<Heartbeat>,
  ): Promise<Port> {
    const common = {
      msgOrder: [], // sessions restore the order
      ...(provider !== undefined && { provider }),
      ...(driver === 'loop' ? { driver } : { busyPoll: BUSY_POLL }),
      ...(node !== undefined && { node }),
      ...(domain !== undefined && { domain }),
    };
    if (/efa|shm/.test(provider ?? '')) {
      try {
        const endpoint = (await expecting('FI_ENODATA', () =>
          open({ ...common, caps: ['FI_MSG', 'FI_RMA'] }),
        )) as PortEndpoint;
        return new Port(endpoint, readsByItself(endpoint), heartbeat);
      } catch (error) {
        if (!FabricError.is(error) || error.code !== 'FI_ENODATA') throw error;
      }
    }
    const endpoint = (await open({ ...common, caps: ['FI_MSG'] })) as PortEndpoint;
    return new Port(endpoint, false, heartbeat);
  }

  /** Closes the endpoint after the last user. */
  release(): void {
    const opened = this.#opened;
    if (opened === undefined || --opened.users > 0) return;
    Port.#forget(opened);
    this.#endpoint.close().catch(() => {}); // the provider has broken it
  }

  /** Whether its provider may refuse more peers. The next session then gets another endpoint. */
  get isWorn(): boolean {
    return this.#local.size >= MOST_LOCAL;
  }

  /** The address at which peers reach the endpoint. */
  get address(): Uint8Array {
    return this.#endpoint.address;
  }

  /** The format of its address. */
  get format(): string {
    return this.#endpoint.info.addrFormat;
  }

  /** The provider of the endpoint. */
  get provider(): string {
    return this.#endpoint.info.fabricAttr.provName ?? '';
  }

  /** The name of its domain. */
  get nic(): string {
    return this.#endpoint.info.domainAttr.name ?? '';
  }

  /** Inserts the address of a peer. Each call needs a forget(). */
  async meet(address: Uint8Array): Promise<Peer> {
    const key = Buffer.from(address).toString('hex');
    // An address that is being removed cannot be inserted.
    while (this.#leaving.has(key)) await this.#leaving.get(key);
    if (this.#isLocal(address)) this.#local.add(key);
    return this.#endpoint.av.insert(address);
  }

  #isLocal(address: Uint8Array): boolean {
    if (!/efa/.test(this.provider)) return /shm|sm2/.test(this.provider);
    return Buffer.compare(address.subarray(0, GID), this.address.subarray(0, GID)) === 0;
  }

  forget(peer: Peer, address: Uint8Array): void {
    const key = Buffer.from(address).toString('hex');
    const removal = this.#endpoint.av
      .remove(peer)
      .catch(() => {}) // the endpoint closes
      .then(() => {
        if (this.#leaving.get(key) === removal) this.#leaving.delete(key);
      });
    this.#leaving.set(key, removal);
  }

  /** Carries the packets of a session. */
  carry(session: Carried, peer: Peer, link: number): void {
    this.#sessions.set(session.number, session);
    native.netCarry(this.#handle, session.handle, peer.handle, link);
  }

  /** Carries them no more. */
  leave(session: number): void {
    this.#sessions.delete(session);
    native.netLeave(this.#handle, session);
  }

  /** Sends the packets that a session has. */
  send(session: number): void {
    native.netSend(this.#handle, session);
  }

  /** Changes the number of sessions that keep the event loop alive. */
  hold(change: 1 | -1): void {
    this.#references += change;
    if (this.#references > 0) this.#endpoint.ref();
    else this.#endpoint.unref();
  }

  /** Sessions have events. */
  completed(): void {
    const events = native.netPortEvents(this.#handle);
    for (let at = 0; at < events.length; at += 4) {
      const carried = this.#sessions.get(events[at] as number);
      try {
        carried?.told(events[at + 1] as number, events[at + 2] as number, events[at + 3] as number);
      } catch (error) {
        throwLater(error);
      }
    }
  }

  /** The domain has closed. */
  lost(): void {}
}
