import { Duplex, type DuplexOptions } from 'node:stream';
import type { NetSocketState } from '../diagnostics/net-state.js';
import type { SocketStream } from './socket-stream.js';

/** What a socket says of its session and of the peer: as a net.Socket and a tls.TLSSocket do. */
export abstract class SessionDuplex extends Duplex {
  /** @internal */
  protected abstract readonly stream: SocketStream;

  /** @internal */
  protected constructor(options: DuplexOptions) {
    super(options);
  }

  /** What the socket waits for, and the bytes on their way. Undefined if it is not connected. */
  stats(): NetSocketState | undefined {
    return this.stream.state();
  }

  /** The provider whose endpoints carry the packets, or `'control'`: they travel over TCP or TLS. */
  get path(): string | undefined {
    return this.stream.session?.path;
  }

  /** The address of the peer on the control connection. */
  get remoteAddress(): string | undefined {
    return this.stream.address.remoteAddress;
  }

  /** The port of the peer on the control connection. */
  get remotePort(): number | undefined {
    return this.stream.address.remotePort;
  }

  /** `'IPv4'` or `'IPv6'`. */
  get remoteFamily(): string | undefined {
    return this.stream.address.remoteFamily;
  }

  /** The local address of the control connection. */
  get localAddress(): string | undefined {
    return this.stream.address.localAddress;
  }

  /** The local port of the control connection. */
  get localPort(): number | undefined {
    return this.stream.address.localPort;
  }

  /** `'IPv4'` or `'IPv6'`. */
  get localFamily(): string | undefined {
    return this.stream.address.localFamily;
  }

  /** The local address of the session. */
  address(): { address?: string; family?: string; port?: number } {
    const { localAddress, localFamily, localPort } = this.stream.address;
    if (localAddress === undefined || localPort === undefined || localFamily === undefined)
      return {};
    return { address: localAddress, family: localFamily, port: localPort };
  }

  /** Whether the session was agreed over TLS. */
  get encrypted(): boolean | undefined {
    return this.stream.certified.encrypted;
  }

  /** Whether the peer's certificate was verified. */
  get authorized(): boolean | undefined {
    return this.stream.certified.authorized;
  }

  /** The protocol that the sides have chosen, if the session was agreed over TLS. */
  get alpnProtocol(): string | false | null | undefined {
    return this.stream.certified.alpnProtocol;
  }

  /** The certificate of the peer, if the session was agreed over TLS. */
  getPeerCertificate(detailed?: boolean): object | undefined {
    return this.stream.certified.getPeerCertificate?.(detailed);
  }
}
