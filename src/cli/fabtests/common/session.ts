import { FabricError } from '../../../base/errors.js';
import type { Cap, MrAccess } from '../../../base/flags.js';
import type { Peer } from '../../../base/peer.js';
import type { AnyInfo, Info } from '../../../contract/info-types.js';
import type { Domain } from '../../../domain.js';
import type { BatchBase } from '../../../endpoint/batch.js';
import type { MemoryRegion, RegionSlice } from '../../../memory/memory-region.js';
import { Buffers } from './buffers.js';
import { ControlMessages } from './control-messages.js';
import { type Dialect, dialectOf, usualRelease } from './dialect.js';
import { namingPort } from './listening.js';
import { freeDeviceMemory } from './memory.js';
import { connectOob, listenOob, type OobSocket, usesOob } from './oob.js';
import {
  type Counters,
  checkProvider,
  findEntry,
  type Needs,
  type OpenedEndpoint,
  openEndpoint,
  type TestEndpoint,
} from './open-endpoint.js';
import { PeerConnections } from './peer-connections.js';
import { mayBeClient } from './proof.js';
import type { Settings } from './settings.js';
import { syncInBand, syncOutOfBand } from './sync.js';
import { Interrupted, Waiter } from './waiter.js';

// The passive side waits this many timeouts when it has no other sign of its peer.
const LONG = 60;
// Milliseconds to wait for the reason why the peer has ended, after an operation has failed.
const REASON_TIME = 500;

/** The parts of a session before the peer is known. */
interface Parts extends OpenedEndpoint {
  readonly info: Info;
  readonly control: MemoryRegion;
  readonly connections: PeerConnections;
}

/** How a session opens. */
export interface SessionOptions {
  /** Ends the wait for a client. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Receives messages over the client's out-of-band connection before the endpoint opens, and returns the settings that
   * they imply.
   */
  readonly beforeOpen?: ((oob: OobSocket) => Promise<Partial<Settings>>) | undefined;
  /** The out-of-band connection of an earlier session. */
  readonly oob?: OobSocket | undefined;
}

export type TestBatch = ReturnType<TestEndpoint['batch']>;

/**
 * One of the two sides of a test: an endpoint, the peer's address, and the protocol that fabtests
 * speak outside their timed loops. The caller drives the engine (driver 'manual').
 *
 * If messages have tags, the n-th message of a side has tag n, starting at 0 and counting every
 * message. `sent` and `received` hold the count, and loops that send by batches update them.
 */
export class Session {
  readonly settings: Settings;
  readonly info: Info;
  /** The entries of the measured NICs: `info`, unless a test opens others. */
  nics: readonly AnyInfo[];
  readonly ep: TestEndpoint;
  readonly domain: Domain;
  readonly role: 'client' | 'server';
  readonly waiter: Waiter;
  readonly tagged: boolean;
  /** Set if the test asked for counters. */
  readonly counters: Counters | undefined;
  readonly connections: PeerConnections;
  /** Whether the peer runs this package. */
  samePackage = false;
  /** The number of messages sent, which is the next send's tag. */
  sent = 0;
  /** The number of receives posted, which is the next receive's tag. */
  received = 0;
  /** The dialect that both sides speak. */
  dialect: Dialect;
  readonly #parts: Parts;
  readonly #control: ControlMessages;
  readonly #belongings: (() => Promise<void>)[] = [];
  #peer: Peer | undefined;
  #interrupted: Interrupted | undefined;
  #finishing = false;

  private constructor(settings: Settings, parts: Parts) {
    this.settings = settings;
    this.#parts = parts;
    this.info = parts.info;
    this.nics = [parts.info as AnyInfo];
    this.ep = parts.ep;
    this.domain = parts.domain;
    this.connections = parts.connections;
    this.counters = parts.counters;
    this.role = settings.host === undefined ? 'server' : 'client';
    this.tagged = (parts.info.caps as readonly Cap[]).includes('FI_TAGGED');
    this.dialect = dialectOf(settings.release ?? usualRelease());
    this.waiter = new Waiter(parts.domain, settings.timeout, () => this.#trouble());
    this.#control = new ControlMessages(this, parts.control);
  }

  /**
   * Opens an endpoint, and the out-of-band connection if the settings ask for it. The server waits
   * for a candidate there, as fabtests wait for their client. exchangeAddresses() then finds out which
   * candidate is the client, and exchanges the addresses.
   */
  static async open(
    settings: Settings,
    needs: Needs,
    { signal, beforeOpen, oob: kept }: SessionOptions = {},
  ): Promise<Session> {
    checkProvider(settings);
    const opens = kept === undefined && usesOob(settings);
    const isServer = settings.host === undefined;
    const oob = kept ?? (opens && !isServer ? await connectOob(settings) : undefined);
    const candidates = opens && isServer ? await listenOob(settings, signal) : undefined;
    const connections = new PeerConnections(oob, candidates);
    try {
      const candidate = await candidates?.arrival((one) => mayBeClient(one, settings));
      const overrides = oob && (await beforeOpen?.(oob));
      const near = (oob ?? candidate)?.localAddress;
      const info = findEntry({ ...settings, ...overrides }, needs, near);
      return await Session.#on(info, settings, needs, connections);
    } catch (error) {
      connections.close();
      throw error;
    }
  }

  static async #on(info: Info, settings: Settings, needs: Needs, connections: PeerConnections) {
    const { maxMsgSize } = settings;
    const opened = await openEndpoint(info, {
      counters: needs.counters === true,
      options: {
        ...needs.options,
        ...(maxMsgSize !== undefined && { FI_OPT_MAX_MSG_SIZE: maxMsgSize }),
      },
    }).catch((error) => {
      throw namingPort(settings, error);
    });
    const control = await ControlMessages.allocate(opened.domain);
    return new Session(settings, { ...opened, info, control, connections });
  }

  /** The peer. */
  get peer(): Peer {
    if (this.#peer === undefined) throw new Error('addresses have not been exchanged');
    return this.#peer;
  }

  set peer(peer: Peer) {
    this.#peer = peer;
  }

  /** Whether this side has been interrupted. */
  get interrupted(): boolean {
    return this.#interrupted !== undefined;
  }

  /** Handles Ctrl-C: pending waits end soon with Interrupted. */
  interrupt(): void {
    this.#interrupted ??= new Interrupted('interrupted');
  }

  #trouble(): Error | undefined {
    if (this.#interrupted) return this.#interrupted;
    if (this.#finishing) return undefined; // the peer may have finished
    return this.connections.failure;
  }

  /**
   * Why the test failed with this error. An operation fails if the peer ends, and the provider may
   * notice that before the peer's reason has arrived.
   */
  async causeOf(error: unknown): Promise<unknown> {
    // The batch of a failed operation may be in flight, so that it cannot be freed: the first error is the cause.
    if (error instanceof Error && 'suppressed' in error) return this.causeOf(error.suppressed);
    if (!(error instanceof FabricError)) return error;
    await this.connections.link?.closedWithin(REASON_TIME);
    return this.#trouble() ?? error;
  }

  /** The message with which bandwidth tests acknowledge a window: 4 bytes of fabtests' pattern. */
  get acknowledgement(): RegionSlice {
    return this.#control.acknowledgement;
  }

  /** The receive buffer for acknowledgements. */
  get answer(): RegionSlice {
    return this.#control.answer;
  }

  /**
   * Seconds that the passive side waits while its peer measures a whole size. Without limit if a
   * TCP connection would show that the peer has ended.
   */
  get passiveTimeout(): number {
    return this.connections.noticesEnd ? Number.POSITIVE_INFINITY : this.settings.timeout * LONG;
  }

  /** Drives the engine until a promise is settled. */
  until<T>(promise: Promise<T>, seconds?: number): Promise<T> {
    return this.waiter.until(promise, seconds);
  }

  /** The same without keeping a core busy, before the test: Waiter.untilWithPauses(). */
  untilWithPauses<T>(promise: Promise<T>): Promise<T> {
    return this.waiter.untilWithPauses(promise);
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
   * Synchronizes both sides before RMA that the peer may finish first. It also posts the receive of
   * the peer's next sync. With tcp, responses to RMA get stuck behind a message that has no receive
   * posted.
   */
  async syncBeforeRma(): Promise<void> {
    await this.sync();
    if (!this.settings.oobSync) this.#control.receiveAhead();
  }

  /**
   * Receives a control message. Posts a receive if none is posted. The bytes stay valid until a few
   * more messages have arrived.
   */
  receive(seconds?: number): Promise<Uint8Array> {
    return this.#control.receive((promise) => this.until(promise, seconds));
  }

  /** Receives a control message without a time limit: a client may start much later. */
  receiveWithoutLimit(): Promise<Uint8Array> {
    return this.#control.receive((promise) =>
      this.waiter.untilWithPauses(promise, Number.POSITIVE_INFINITY),
    );
  }

  /** Sends a control message. */
  send(bytes: Uint8Array, to = this.peer): Promise<void> {
    return this.#control.send(bytes, to);
  }

  /**
   * Waits until both sides have called it: ft_sync(). It uses the fabric, or the socket with -b.
   */
  async sync(seconds?: number): Promise<void> {
    const oob = this.settings.oobSync ? await this.#oobForSync(seconds) : undefined;
    return oob ? syncOutOfBand(this, oob, seconds) : this.syncInBand(seconds);
  }

  async #oobForSync(seconds?: number): Promise<OobSocket | undefined> {
    const { oob, oobLater } = this.connections;
    return oob ?? (oobLater && (await this.until(oobLater, seconds)));
  }

  /** Synchronizes over the fabric, whatever the settings say. */
  syncInBand(seconds?: number): Promise<void> {
    return syncInBand(this, seconds);
  }

  /** Marks the measurement as finished: from now on it is no error that the peer ends. */
  end(): void {
    this.#finishing = true;
  }

  /** Submits a batch and waits for it. */
  complete(batch: BatchBase): Promise<void> {
    return this.waiter.complete(batch);
  }

  /** Allocates memory for the test's transfers. */
  allocate(room: number, places: number, access: readonly MrAccess[]): Promise<Buffers> {
    const least = this.dialect.controlBytes;
    const layout = { room, places, access, least };
    return Buffers.allocate(this.domain, layout, this.settings.deviceMemory);
  }

  /** Registers a function that runs when the session closes. */
  onClose(close: () => Promise<void>): void {
    this.#belongings.push(close);
  }

  /**
   * Closes everything. A reason reports to the peer that the test did not finish. `keepOob` keeps
   * the out-of-band connection for a later session.
   */
  async close(reason?: string, keepOob = false): Promise<void> {
    this.connections.close(reason, keepOob);
    await Promise.all(this.#belongings.map((close) => close()));
    await this.ep.close({ timeout: reason === undefined ? 1000 : 100 });
    await this.#parts.fabric.close();
    freeDeviceMemory(this.domain);
  }
}
