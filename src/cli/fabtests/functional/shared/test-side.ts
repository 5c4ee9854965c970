import {
  exchangeAddresses,
  exchangeAddressesAgain,
  exchangeAddressesWithHandshake,
} from '../../common/address-exchange.js';
import { type Dialect, dialectOf, usualRelease } from '../../common/dialect.js';
import { type OobSocket, openOob } from '../../common/oob.js';
import { findEntry, type Needs } from '../../common/open-endpoint.js';
import { Session } from '../../common/session.js';
import type { Settings } from '../../common/settings.js';
import type { Control } from '../../common/test-command.js';
import { awaiting, NotOffered } from './failure.js';

/** How a test opens its endpoint. */
export interface OpenOptions {
  /** What to do before the peer can send anything. */
  readonly beforePeerSends?: (session: Session) => void;
  /** The out-of-band connection of the session before, if there was one. */
  readonly oob?: OobSocket | undefined;
  /** They repeat the handshake nevertheless. */
  readonly handshake?: boolean;
}

/** One side of a test: what it was asked to do, the sessions it opens, and what it says. */
export class TestSide<Own extends object = object> {
  readonly settings: Settings;
  /** The test's own options. */
  readonly own: Own;
  readonly role: 'client' | 'server';
  readonly #limit: ((provider: string) => string | undefined) | undefined;
  readonly #control: Control;
  readonly #write: (line: string) => void;
  readonly #complain: (line: string) => void;
  #session: Session | undefined;
  // The connection beside the fabric, between two sessions.
  #kept: OobSocket | undefined;
  // What the other side of the session before speaks, which it need not tell again.
  #dialect: Dialect | undefined;
  #entry: Session['info'] | undefined;

  constructor(
    { limit }: { readonly limit?: (provider: string) => string | undefined },
    settings: Settings,
    own: Own,
    control: Control,
    write: (line: string) => void,
    complain: (line: string) => void,
  ) {
    this.#limit = limit;
    this.settings = settings;
    this.own = own;
    this.role = settings.host === undefined ? 'server' : 'client';
    this.#control = control;
    this.#write = write;
    this.#complain = complain;
  }

  /** Bytes of a message: -S. */
  get size(): number {
    const { sizes } = this.settings;
    if (sizes.kind !== 'one') throw new Error('a functional test has one size');
    return sizes.size;
  }

  /** How often: -I. */
  get iterations(): number {
    return this.settings.iterations ?? 1;
  }

  /** The release whose dialect this side speaks before it knows the other: 117 is 1.17. */
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

  /** A line of fabtests' text. */
  say(line: string): void {
    if (this.settings.output === 'table') this.#write(line);
  }

  /** A line of figures, in whatever form they are asked for. */
  figures(line: string): void {
    if (this.settings.output !== 'json') this.#write(line);
  }

  /** A line for those who look for trouble. */
  complain(line: string): void {
    this.#complain(line);
  }

  /** Opens an endpoint and meets the other side. */
  async open(
    needs: Needs,
    { beforePeerSends, oob, handshake }: OpenOptions = {},
    settings = this.settings,
  ) {
    this.#refuse(findEntry(settings, needs));
    const session = await Session.open(settings, needs, this.#control.signal, undefined, oob);
    this.#entry = session.info;
    this.#session = session;
    this.#kept = undefined;
    if (oob !== undefined && this.#dialect) session.dialect = this.#dialect;
    this.#control.target = session;
    beforePeerSends?.(session);
    const again = handshake ? exchangeAddressesWithHandshake : exchangeAddressesAgain;
    const exchange = oob === undefined ? exchangeAddresses : again;
    await awaiting('an exchange of addresses', exchange(session));
    return session;
  }

  // Before a client is waited for.
  #refuse(entry: Session['info']): void {
    this.#entry = entry;
    const limit = this.#limit?.(entry.fabricAttr.provName ?? '');
    if (limit !== undefined) throw new NotOffered(limit);
  }

  /**
   * Waits until the other side has come to its end too, where it is one of this package. Throws where
   * it has failed.
   */
  async conclude(session: Session): Promise<void> {
    if (!session.samePackage) return;
    const { peerLink } = session;
    if (peerLink === undefined) return;
    peerLink.tell('passed');
    await awaiting('the verdict of the other side', session.until(peerLink.expect()));
  }

  /** The server's next client: with -b and -E it comes by a connection of its own. */
  async nextClient(session: Session): Promise<void> {
    await this.conclude(session);
    session.closePeerLink();
    session.oob?.close();
    session.oob = await openOob(session.settings, this.#control.signal);
    await awaiting('an exchange of addresses with the next client', exchangeAddresses(session));
  }

  /** The next client that comes by the same connection. */
  async nextClientOnSameSocket(session: Session): Promise<void> {
    await this.conclude(session);
    session.closePeerLink();
    await awaiting(
      'an exchange of addresses with the next client',
      exchangeAddressesAgain(session),
    );
  }

  /** Ends a session, of which the connection beside the fabric is kept for the next one. */
  async closeKeepingOob(session: Session): Promise<OobSocket | undefined> {
    await this.conclude(session);
    await session.close(undefined, true);
    this.#session = undefined;
    this.#kept = session.oob;
    this.#dialect = session.dialect;
    return session.oob;
  }

  /** Ends what is open. A reason tells the other side that the test has failed. */
  async close(reason?: string): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    this.#kept?.close();
    if (session === undefined) return;
    if (reason === undefined) await this.conclude(session);
    await session.close(reason);
  }
}
