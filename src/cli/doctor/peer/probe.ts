import { PeerConnection, reach } from './connection.js';
import { ProbeEndpoint } from './endpoint.js';
import { type Delivery, decode, deliveryIn, encode, plain } from './messages.js';

const MARGIN = 5000; // milliseconds that are added to the peer's own timeout

/** A probe between a local NIC and one of the peer. */
export interface Attempt {
  readonly domain: string;
  readonly peerDomain: string;
  /** Whether both are the same device, or devices of one host, so that no network was tested. */
  readonly sameDevice: boolean;
  /** The delivery of the message, as this side sees it. */
  readonly outward: Delivery;
  /** Whether it arrived, as the peer reports. */
  readonly arrived: boolean;
  /** The delivery of the answer, as the peer reports; null if none was sent. */
  readonly back: Delivery | null;
  /** Whether the answer arrived. */
  readonly answered: boolean;
}

export interface Target {
  readonly host: string;
  readonly port: number;
  /** Milliseconds for each step. */
  readonly timeout: number;
}

/** Probes every local NIC and every NIC of the peer, in pairs. Throws ReachError. */
export async function probe(
  { host, port, timeout }: Target,
  domains: readonly string[],
): Promise<Attempt[]> {
  const connection = new PeerConnection(await reach(host, port, timeout));
  try {
    const theirs = await connection.handshake(domains, timeout);
    const attempts: Attempt[] = [];
    for (let nic = 0; nic < Math.max(domains.length, theirs.length); nic++) {
      const domain = domains[nic % domains.length] as string;
      attempts.push(await attempt(connection, domain, nic, timeout));
    }
    return attempts;
  } finally {
    connection.close();
  }
}

async function attempt(
  connection: PeerConnection,
  domain: string,
  nic: number,
  timeout: number,
): Promise<Attempt> {
  const endpoint = await ProbeEndpoint.open(domain);
  try {
    const [own, seconds] = [endpoint.address, timeout / 1000];
    connection.send({ kind: 'try', nic, address: encode(own), seconds });
    const ready = await connection.receive('ready', timeout + MARGIN);
    const theirs = decode(ready.address);
    const outward = await endpoint.send(theirs, timeout, connection.over);
    connection.send({ kind: 'sent', delivery: outward });
    const received = await connection.receive('received', 2 * timeout + MARGIN);
    const { arrived } = received;
    const answer = deliveryIn(received.answer);
    const answered =
      answer?.kind === 'delivered' && (await endpoint.arrived(timeout, connection.over));
    return {
      domain,
      peerDomain: plain(ready.domain),
      sameDevice: gidOf(own).equals(gidOf(theirs)),
      outward,
      arrived: arrived === true,
      back: answer,
      answered,
    };
  } finally {
    await endpoint.close();
  }
}

// An address of efa begins with the GID of its device.
const gidOf = (address: Uint8Array) => Buffer.from(address).subarray(0, 16);
