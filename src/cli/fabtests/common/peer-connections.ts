import type { Candidates, Proof } from '../../shared/candidates.js';
import { type OobSocket, PeerGone } from './oob.js';
import type { PeerLink, PeerListener } from './peer-link.js';

/** The TCP connections of a side with its peer, beside the fabric. */
export class PeerConnections {
  /** The out-of-band connection. A server has none until it knows its client, and another one for the next client. */
  oob: OobSocket | undefined;
  /** Those that have connected to a server out of band. One of them is its client. */
  candidates: Candidates<OobSocket> | undefined;
  /** The out-of-band connection of a client that is known only when it synchronizes. */
  oobLater: Promise<OobSocket> | undefined;
  /** Waits for a client that runs this package. */
  listener: PeerListener | undefined;
  #link: PeerLink | undefined;

  constructor(oob?: OobSocket, candidates?: Candidates<OobSocket>) {
    this.oob = oob;
    this.candidates = candidates;
  }

  /** The link to a peer that runs this package. At the server it appears once the client has connected. */
  get link(): PeerLink | undefined {
    return this.#link ?? this.listener?.link;
  }

  set link(link: PeerLink | undefined) {
    this.#link = link;
  }

  /**
   * Meets the server's client out of band, among those that have connected. If it is the only one of `clients`, no more
   * may connect.
   */
  async takeClient<T>(proof: Proof<OobSocket, T>, clients: number): Promise<T> {
    if (this.candidates === undefined) throw new Error('there is no out-of-band connection');
    const [oob, value] = await this.candidates.client(proof);
    oob.recognize();
    this.oob = oob;
    if (clients === 1) this.candidates.close();
    return value;
  }

  /** Whether a connection would show that the peer has ended. */
  get noticesEnd(): boolean {
    return this.link !== undefined || this.oob !== undefined;
  }

  /** Why the sides are known not to finish: they measure different sizes, or the peer has ended. */
  get failure(): Error | undefined {
    const disagreement = this.link?.disagreement;
    if (disagreement !== undefined) return new Error(disagreement);
    const ended = this.link?.ended;
    if (ended !== undefined) return new PeerGone(`the peer has ended: ${ended}`);
    return this.oob?.failure;
  }

  /** Closes the link to the peer. A reason reports that the test did not finish. */
  closeLink(reason?: string): void {
    this.link?.close(reason);
    this.listener?.close();
    this.#link = undefined;
    this.listener = undefined;
  }

  /** Closes the out-of-band connection, before the next client makes another one. */
  closeOob(): void {
    this.oob?.close();
    this.oob = undefined;
  }

  /** Closes all. `keepOob` keeps the out-of-band connection for a later session. */
  close(reason?: string, keepOob = false): void {
    this.closeLink(reason);
    if (!keepOob) this.oob?.close();
    this.candidates?.close();
  }
}
