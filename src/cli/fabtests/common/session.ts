import type { BatchBase } from '../../../batch.js';
import type { Domain } from '../../../domain.js';
import type { Cap, MrAccess } from '../../../flags.js';
import type { AnyInfo, Info } from '../../../info-types.js';
import type { MemoryRegion, RegionSlice } from '../../../memory-region.js';
import type { Peer } from '../../../peer.js';
import { Buffers } from './buffers.js';
import { ControlMessages } from './control-messages.js';
import { type Dialect, dialectOf, usualRelease } from './dialect.js';
import { type OobSocket, openOob, PeerGone } from './oob.js';
import {
  type Counters,
  findEntry,
  type Needs,
  type OpenedEndpoint,
  openEndpoint,
  type TestEndpoint,
} from './open-endpoint.js';
import type { PeerLink, PeerListener } from './peer-link.js';
import type { Settings } from './settings.js';
import { syncInBand, syncOutOfBand } from './sync.js';
import { Interrupted, Waiter } from './waiter.js';

// Times the timeout that a passive side waits where nothing else tells of the other.
const LONG = 60;

/** What a session is made of, before the other side is known. */
interface Parts extends OpenedEndpoint {
  readonly info: Info;
  readonly control: MemoryRegion;
  readonly oob: OobSocket | undefined;
}

export type TestBatch = ReturnType<TestEndpoint['batch']>;

/**
 * One of the two sides of a test: an endpoint, the other side's address, and the protocol that
 * fabtests speak outside their timed loops. The engine is turned by the caller (driver 'manual').
 *
 * The n-th message of a side has tag n where messages have tags, from 0 and counted over everything
 * it sends: `sent` and `received` count on, and loops that send by batches count on with them.
 */
export class Session {
  readonly settings: Settings;
  readonly info: Info;
  /** Of the NICs that carry what is measured: `info`, unless a test opens others. */
  nics: readonly AnyInfo[];
  readonly ep: TestEndpoint;
  readonly domain: Domain;
  readonly role: 'client' | 'server';
  readonly waiter: Waiter;
  readonly tagged: boolean;
  /** Where the test has asked for counters. */
  readonly counters: Counters | undefined;
  /** The connection beside the fabric; another one when the next client has come. */
  oob: OobSocket | undefined;
  /** Whether the other side is one of this package. */
  samePackage = false;
  /** Messages sent so far, which is the next one's tag. */
  sent = 0;
  /** Receives posted so far, which is the next one's tag. */
  received = 0;
  /** The dialect that both sides speak. */
  dialect: Dialect;
  listener: PeerListener | undefined;
  readonly #parts: Parts;
  readonly #control: ControlMessages;
  readonly #belongings: (() => Promise<void>)[] = [];
  #peer: Peer | undefined;
  #peerLink: PeerLink | undefined;
  #interrupted: Interrupted | undefined;
  #finishing = false;

  private constructor(settings: Settings, parts: Parts) {
    this.settings = settings;
    this.#parts = parts;
    this.info = parts.info;
    this.nics = [parts.info as AnyInfo];
    this.ep = parts.ep;
    this.domain = parts.domain;
    this.oob = parts.oob;
    this.counters = parts.counters;
    this.role = settings.host === undefined ? 'server' : 'client';
    this.tagged = (parts.info.caps as readonly Cap[]).includes('FI_TAGGED');
    this.dialect = dialectOf(settings.release ?? usualRelease());
    this.waiter = new Waiter(parts.domain, settings.timeout, () => this.#trouble());
    this.#control = new ControlMessages(this, parts.control);
  }

  /**
   * Opens an endpoint, and the connection beside the fabric where the settings ask for it. The
   * server waits for its client there, as fabtests do. The other side's address is yet to be
   * exchanged: see exchangeAddresses().
   *
   * @param hear what is to be heard over that connection before, and what it says about the endpoint.
   * @param kept the connection beside the fabric, of a session before this one.
   */
  static async open(
    settings: Settings,
    needs: Needs,
    signal?: AbortSignal,
    hear?: (oob: OobSocket) => Promise<Partial<Settings>>,
    kept?: OobSocket,
  ): Promise<Session> {
    const oob = kept ?? (await openOob(settings, signal));
    try {
      const heard = oob && (await hear?.(oob));
      const info = findEntry({ ...settings, ...heard }, needs, oob?.localAddress);
      return await Session.#on(info, settings, needs, oob);
    } catch (error) {
      oob?.close();
      throw error;
    }
  }

  static async #on(info: Info, settings: Settings, needs: Needs, oob?: OobSocket) {
    const { maxMsgSize } = settings;
    const opened = await openEndpoint(info, {
      counters: needs.counters === true,
      options: {
        ...needs.options,
        ...(maxMsgSize !== undefined && { FI_OPT_MAX_MSG_SIZE: maxMsgSize }),
      },
    });
    const control = await ControlMessages.allocate(opened.domain);
    return new Session(settings, { ...opened, info, control, oob });
  }

  /** The other side. */
  get peer(): Peer {
    if (this.#peer === undefined) throw new Error('addresses have not been exchanged');
    return this.#peer;
  }

  set peer(peer: Peer) {
    this.#peer = peer;
  }

  /** To the other side, where that is one of this package: a client's comes to the listener. */
  get peerLink(): PeerLink | undefined {
    return this.#peerLink ?? this.listener?.link;
  }

  set peerLink(link: PeerLink | undefined) {
    this.#peerLink = link;
  }

  /** Whether this side has been interrupted. */
  get interrupted(): boolean {
    return this.#interrupted !== undefined;
  }

  /** Ctrl-C: whatever waits ends soon, with Interrupted. */
  interrupt(): void {
    this.#interrupted ??= new Interrupted('interrupted');
  }

  #trouble(): Error | undefined {
    if (this.#interrupted) return this.#interrupted;
    if (this.#finishing) return undefined; // the other side may be through
    const ended = this.peerLink?.ended;
    if (ended !== undefined) return new PeerGone(`the other side has ended: ${ended}`);
    return this.oob?.failure;
  }

  /** What bandwidth tests acknowledge a window with: 4 bytes of fabtests' pattern. */
  get acknowledgement(): RegionSlice {
    return this.#control.acknowledgement;
  }

  /** Where acknowledgements are received. */
  get answer(): RegionSlice {
    return this.#control.answer;
  }

  /**
   * Seconds to wait for what the other side only does when it has measured a whole size: without
   * limit where its end would be noticed.
   */
  get passively(): number {
    const noticed = this.peerLink !== undefined || this.oob !== undefined;
    return noticed ? Number.POSITIVE_INFINITY : this.settings.timeout * LONG;
  }

  /** Turns the engine until a promise is settled. */
  until<T>(promise: Promise<T>, seconds?: number): Promise<T> {
    return this.waiter.until(promise, seconds);
  }

  /** An empty batch of the endpoint. */
  batch(fill: (batch: TestBatch) => void): TestBatch {
    const batch = this.ep.batch();
    fill(batch);
    return batch;
  }

  /** Posts a receive of a control message ahead of the message. */
  postReceive(): void {
    this.#control.postReceive();
  }

  /**
   * Waits until both sides have come here, before RMA whose end the other side may be ahead of: it
   * then finds a receive for its next sync. With tcp, what answers to RMA gets stuck behind a message
   * that has no receive.
   */
  async syncBeforeRma(): Promise<void> {
    await this.sync();
    if (!this.settings.oobSync) this.#control.receiveAhead();
  }

  /**
   * Receives a control message, posting a receive where none is. Its bytes are good until a few
   * more have come.
   */
  receive(seconds?: number): Promise<Uint8Array> {
    return this.#control.receive((promise) => this.until(promise, seconds));
  }

  /** The same, from a client that may come in an hour. */
  receiveWithoutLimit(): Promise<Uint8Array> {
    return this.#control.receive((promise) => this.waiter.untilWithoutLimit(promise));
  }

  /** Sends a control message. */
  send(bytes: Uint8Array, to = this.peer): Promise<void> {
    return this.#control.send(bytes, to);
  }

  /**
   * Waits until both sides have come here: ft_sync(). Over the fabric, or over the socket with -b.
   */
  async sync(seconds?: number): Promise<void> {
    if (this.settings.oobSync && this.oob) return syncOutOfBand(this, this.oob, seconds);
    return this.syncInBand(seconds);
  }

  /** The same over the fabric, whatever the settings say. */
  syncInBand(seconds?: number): Promise<void> {
    return syncInBand(this, seconds);
  }

  /** All is measured: that the other side ends is no trouble from now on. */
  end(): void {
    this.#finishing = true;
  }

  /** Submits a batch and waits for it. */
  complete(batch: BatchBase): Promise<void> {
    return this.waiter.complete(batch);
  }

  /** Memory for the test's transfers. */
  allocate(room: number, places: number, access: readonly MrAccess[]): Promise<Buffers> {
    const least = this.dialect.controlBytes;
    return Buffers.allocate(this.domain, { room, places, access, least });
  }

  /** Ends the conversation with the other side; a reason tells it that the test is not over. */
  closePeerLink(reason?: string): void {
    this.peerLink?.close(reason);
    this.listener?.close();
    this.peerLink = undefined;
    this.listener = undefined;
  }

  /** What is to be closed with the session. */
  onClose(close: () => Promise<void>): void {
    this.#belongings.push(close);
  }

  /**
   * Closes everything; a reason tells the other side that the test has not come to its end. The
   * connection beside the fabric may be kept for a session to come.
   */
  async close(reason?: string, keepOob = false): Promise<void> {
    this.closePeerLink(reason);
    if (!keepOob) this.oob?.close();
    await Promise.all(this.#belongings.map((close) => close()));
    await this.ep.close({ timeout: reason === undefined ? 1000 : 100 });
    await this.#parts.fabric.close();
  }
}
