import { Duplex, type DuplexOptions } from 'node:stream';
import type { NetSocketState } from '../diagnostics/net-state.js';
import { type Address, addressesOf, type Certified, certifiedOf, NO_ADDRESS } from './peer-info.js';
import type { SocketSession } from './stream.js';

/** What a socket says of its session and of the peer: as a net.Socket and a tls.TLSSocket do. */
export abstract class SessionDuplex extends Duplex {
  /** @internal */
  protected session: SocketSession | undefined;
  /** @internal Its number in the session, 0 if it is not open. */
  protected stream = 0;
  #address: Address = NO_ADDRESS;
  #certified: Certified = {};

  /** @internal */
  protected constructor(options: DuplexOptions) {
    super(options);
  }

  /** @internal */
  protected joinSession(session: SocketSession): void {
    this.session = session;
    this.#address = addressesOf(session.control);
    this.#certified = certifiedOf(session.control);
  }

  /** @internal */
  protected leaveSession(): void {
    this.session = undefined;
    this.#address = NO_ADDRESS;
    this.#certified = {};
  }

  /** What the socket waits for, and the bytes on their way. Undefined if it is not connected. */
  stats(): NetSocketState | undefined {
    return this.stream > 0 ? this.session?.socketState(this.stream) : undefined;
  }

  /** The provider whose endpoints carry the packets, or `'control'`: they travel over TCP or TLS. */
  get path(): string | undefined {
    return this.session?.path;
  }

  /** The address of the peer on the control connection. */
  get remoteAddress(): string | undefined {
    return this.#address.remoteAddress;
  }

  /** The port of the peer on the control connection. */
  get remotePort(): number | undefined {
    return this.#address.remotePort;
  }

  /** `'IPv4'` or `'IPv6'`. */
  get remoteFamily(): string | undefined {
    return this.#address.remoteFamily;
  }

  /** The local address of the control connection. */
  get localAddress(): string | undefined {
    return this.#address.localAddress;
  }

  /** The local port of the control connection. */
  get localPort(): number | undefined {
    return this.#address.localPort;
  }

  /** `'IPv4'` or `'IPv6'`. */
  get localFamily(): string | undefined {
    return this.#address.localFamily;
  }

  /** The local address of the session. */
  address(): { address?: string; family?: string; port?: number } {
    const { localAddress, localFamily, localPort } = this.#address;
    if (localAddress === undefined || localPort === undefined || localFamily === undefined)
      return {};
    return { address: localAddress, family: localFamily, port: localPort };
  }

  /** Whether the session was agreed over TLS. */
  get encrypted(): boolean | undefined {
    return this.#certified.encrypted;
  }

  /** Whether the peer's certificate was verified. */
  get authorized(): boolean | undefined {
    return this.#certified.authorized;
  }

  /** The protocol that the sides have chosen, if the session was agreed over TLS. */
  get alpnProtocol(): string | false | null | undefined {
    return this.#certified.alpnProtocol;
  }

  /** The certificate of the peer, if the session was agreed over TLS. */
  getPeerCertificate(detailed?: boolean): object | undefined {
    return this.#certified.getPeerCertificate?.(detailed);
  }
}
