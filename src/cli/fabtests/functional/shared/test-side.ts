import {
  exchangeAddresses,
  exchangeAddressesAgain,
  exchangeAddressesWithHandshake,
} from '../../common/address-exchange.js';
import { memoryText, whyTooShort, withDeviceMemory } from '../../common/device-memory.js';
import { type Dialect, dialectOf, usualRelease } from '../../common/dialect.js';
import { listenOob, type OobSocket, usesOob } from '../../common/oob.js';
import { findEntry, type Needs } from '../../common/open-endpoint.js';
import { Session } from '../../common/session.js';
import type { Settings } from '../../common/settings.js';
import type { Control } from '../../common/test-command.js';
import { awaiting, NotOffered } from './failure.js';

/** How a test opens its endpoint. */
export interface OpenOptions {
  /** Runs before the peer can send anything. */
  readonly beforePeerSends?: (session: Session) => void | Promise<void>;
  /** Bytes of the shortest message from memory of a device. */
  readonly shortest?: number;
  /** The out-of-band connection of the previous session, if there was one. */
  readonly oob?: OobSocket | undefined;
  /** Repeat the handshake even on a kept connection. */
  readonly handshake?: boolean;
}

/** One side of a test: its options, its sessions and its output. */
export class TestSide<Own extends object = object> {
  readonly settings: Settings;
  /** The options that only this test has. */
  readonly own: Own;
  readonly role: 'client' | 'server';
  readonly #limit: ((provider: string) => string | undefined) | undefined;
  readonly #control: Control;
  readonly #write: (line: string) => void;
  readonly #warn: (line: string) => void;
  #session: Session | undefined;
  // The out-of-band connection, between two sessions.
  #kept: OobSocket | undefined;
  // The peer's dialect in the previous session. The peer does not report it again.
  #dialect: Dialect | undefined;
  #entry: Session['info'] | undefined;
  #memory: string | undefined;

  constructor(
    { limit }: { readonly limit?: (provider: string) => string | undefined },
    settings: Settings,
    own: Own,
    control: Control,
    write: (line: string) => void,
    warn: (line: string) => void,
  ) {
    this.#limit = limit;
    this.settings = settings;
    this.own = own;
    this.role = settings.host === undefined ? 'server' : 'client';
    this.#control = control;
    this.#write = write;
    this.#warn = warn;
  }

  /** Bytes per message: -S. */
  get size(): number {
    const { sizes } = this.settings;
    if (sizes.kind !== 'one') throw new Error('a functional test has one size');
    return sizes.size;
  }

  /** Iterations: -I. */
  get iterations(): number {
    return this.settings.iterations ?? 1;
  }

  /** The release whose dialect this side speaks before the peer has reported its own: 117 is 1.17. */
  get release(): number {
    return dialectOf(this.settings.release ?? usualRelease()).release;
  }

  /** Whether the user has pressed Ctrl-C. */
  get interrupted(): boolean {
    return this.#control.signal.aborted;
  }

  /** The entry of getInfo() that the test ran on. */
  get entry(): Session['info'] | undefined {
    return this.#entry;
  }

  /** The memory of a device that the test uses. */
  get memory(): string | undefined {
    return this.#memory;
  }

  /** Prints a line of fabtests' text. */
  say(line: string): void {
    if (this.settings.output === 'table') this.#write(line);
  }

  /** Prints a line of figures, in the chosen format. */
  figures(line: string): void {
    if (this.settings.output !== 'json') this.#write(line);
  }

  /** Prints a line of debugging output. */
  warn(line: string): void {
    this.#warn(line);
  }

  /** Opens an endpoint and exchanges addresses with the peer. */
  async open(
    needs: Needs,
    { beforePeerSends, shortest, oob, handshake }: OpenOptions = {},
    given = this.settings,
  ) {
    const [settings, required] = withDeviceMemory(given, needs);
    this.#memory = memoryText(settings);
    this.#refuse(findEntry(settings, required));
    const session = await Session.open(settings, required, { signal: this.#control.signal, oob });
    this.#entry = session.info;
    this.#session = session;
    this.#kept = undefined;
    if (oob !== undefined && this.#dialect) session.dialect = this.#dialect;
    this.#control.target = session;
    const reason = shortest === undefined ? undefined : whyTooShort(session, shortest);
    if (reason !== undefined) throw new NotOffered(reason);
    await beforePeerSends?.(session);
    const again = handshake ? exchangeAddressesWithHandshake : exchangeAddressesAgain;
    const exchange = oob === undefined ? exchangeAddresses : again;
    await awaiting('an exchange of addresses', exchange(session));
    return session;
  }

  // Called before the server waits for a client.
  #refuse(entry: Session['info']): void {
    this.#entry = entry;
    const limit = this.#limit?.(entry.fabricAttr.provName ?? '');
    if (limit !== undefined) throw new NotOffered(limit);
  }

  /**
   * Waits until the peer has also finished, if it runs this package. Throws if the peer has failed.
   */
  async conclude(session: Session): Promise<void> {
    if (!session.samePackage) return;
    const { link } = session.connections;
    if (link === undefined) return;
    link.send('passed');
    await awaiting('the verdict of the peer', session.until(link.expect()));
  }

  /** Waits for the server's next client. With -b and -E it makes a new connection. */
  async nextClient(session: Session): Promise<void> {
    await this.conclude(session);
    const { connections, settings } = session;
    connections.closeLink();
    connections.closeOob();
    if (usesOob(settings)) {
      connections.candidates ??= await listenOob(settings, this.#control.signal);
    }
    await awaiting('an exchange of addresses with the next client', exchangeAddresses(session));
  }

  /** Waits for the next client, on the same connection. */
  async nextClientOnSameSocket(session: Session): Promise<void> {
    await this.conclude(session);
    session.connections.closeLink();
    await awaiting(
      'an exchange of addresses with the next client',
      exchangeAddressesAgain(session),
    );
  }

  /** Closes a session and keeps its out-of-band connection for the next one. */
  async closeKeepingOob(session: Session): Promise<OobSocket | undefined> {
    await this.conclude(session);
    await session.close(undefined, true);
    this.#session = undefined;
    this.#kept = session.connections.oob;
    this.#dialect = session.dialect;
    return this.#kept;
  }

  /** Why the test failed with this error: Session.causeOf(). */
  async causeOf(error: unknown): Promise<unknown> {
    return this.#session === undefined ? error : this.#session.causeOf(error);
  }

  /** Closes everything. A reason reports to the peer that the test has failed. */
  async close(reason?: string): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    this.#kept?.close();
    if (session === undefined) return;
    if (reason === undefined) await this.conclude(session);
    await session.close(reason);
  }
}
