import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

/** The addresses of the connection over which a session was agreed. */
export interface Address {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly remoteFamily?: string | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  readonly localFamily?: string | undefined;
}

export const NO_ADDRESS: Address = {};

/** What TLS says of the peer. */
export interface Certified {
  readonly encrypted?: boolean;
  readonly authorized?: boolean;
  readonly alpnProtocol?: string | false | null;
  readonly getPeerCertificate?: (detailed?: boolean) => object;
}

export function addressesOf(control: Duplex): Address {
  if (!(control instanceof Socket)) return NO_ADDRESS;
  const { remoteAddress, remotePort, remoteFamily } = control;
  const { localAddress, localPort, localFamily } = control;
  return { remoteAddress, remotePort, remoteFamily, localAddress, localPort, localFamily };
}

export function certifiedOf(control: Duplex): Certified {
  if (!(control instanceof TLSSocket)) return {};
  const { authorized, alpnProtocol } = control;
  return {
    encrypted: true,
    authorized,
    alpnProtocol,
    getPeerCertificate: (detailed) => control.getPeerCertificate(detailed === true),
  };
}
