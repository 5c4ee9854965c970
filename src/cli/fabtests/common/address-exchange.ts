import { setTimeout as sleep } from 'node:timers/promises';
import type { Peer } from '../../../base/peer.js';
import { type Dialect, dialectOf, lowerRelease, usualRelease } from './dialect.js';
import { announceEndpoint } from './listening.js';
import { type OobSocket, PeerGone } from './oob.js';
import type { TestEndpoint } from './open-endpoint.js';
import { CONTROL_BYTES, encodeAddress, type PeerInfo, peerInfoIn } from './peer-info.js';
import { PeerLink, PeerListener } from './peer-link.js';
import { beginsExchange, beginsSync, HANDSHAKE, SYNC } from './proof.js';
import type { Session } from './session.js';
import { DEFAULT_PORT } from './settings.js';

// Milliseconds that a client waits for its server to send first. fabtests' clients wait 1 s.
const HANDSHAKE_WAIT = 300;
// Milliseconds that fabtests' clients wait for the server's endpoint after the out-of-band connection.
const HEAD_START = 1000;

/** Waits for bytes of the peer. */
type Wait = <T>(promise: Promise<T>) => Promise<T>;

/** The result of an exchange out of band. */
interface Met {
  readonly dialect: Dialect;
  readonly peer: Peer;
  readonly info: PeerInfo | undefined;
}

/**
 * Exchanges the addresses of both sides as fabtests do, in band or out of band. It sets
 * `session.peer` and `session.dialect`, the dialect that both sides speak. If both run this
 * package, it connects to the peer.
 */
export async function exchangeAddresses(session: Session): Promise<void> {
  await exchangeBy(session, exchangeOutOfBand);
}

/**
 * Exchanges addresses with another client on the same socket, or in a later session: without a
 * handshake.
 */
export async function exchangeAddressesAgain(session: Session): Promise<void> {
  await exchangeBy(session, (one, oob, wait) => swapAddresses(one, oob, wait, one.dialect));
}

/**
 * Exchanges addresses in a later session. The sides repeat the handshake if the first session had
 * one.
 */
export async function exchangeAddressesWithHandshake(session: Session): Promise<void> {
  await exchangeBy(session, async (one, oob, wait) => {
    const dialect = await handshake(one, oob, wait, one.dialect.handshakes);
    return swapAddresses(one, oob, wait, dialect);
  });
}

async function exchangeBy(
  session: Session,
  outOfBand: (session: Session, oob: OobSocket, wait: Wait) => Promise<Met>,
): Promise<void> {
  const { connections } = session;
  if (session.role === 'server') connections.listener = await PeerListener.open();
  const { oob, candidates } = connections;
  if (!session.settings.oobExchange || (oob ?? candidates) === undefined) {
    await (session.role === 'client' ? callServer(session) : awaitClient(session));
    return;
  }
  const { dialect, peer, info } = oob
    ? await outOfBand(session, oob, (promise) => session.untilWithPauses(promise))
    : await meetClient(session, outOfBand);
  session.dialect = dialect;
  session.peer = peer;
  await applyPeerInfo(session, info);
}

// The candidate that sends a valid address is the client.
async function meetClient(
  session: Session,
  outOfBand: (session: Session, oob: OobSocket, wait: Wait) => Promise<Met>,
): Promise<Met> {
  const asItComes: Wait = (promise) => promise; // the lifetime of a candidate limits the wait
  const proof = {
    begins: (candidate: OobSocket) =>
      beginsExchange(candidate, (message) => insertFrom(session, message)),
    meets: (candidate: OobSocket) => outOfBand(session, candidate, asItComes),
  };
  return session.connections.takeClient(proof, session.settings.connections);
}

const ownRelease = (session: Session) => session.settings.release ?? usualRelease();

const peerInfoOf = (session: Session, messageBytes: number): PeerInfo => ({
  release: ownRelease(session),
  port: session.connections.listener?.port ?? 0,
  token: session.connections.listener?.token ?? 0n,
  messageBytes,
});

const addressMessage = (session: Session, messageBytes = CONTROL_BYTES) =>
  encodeAddress(session.ep.address, peerInfoOf(session, messageBytes));

/** In band: the client knows the server's address and sends its own address to the server. */
async function callServer(session: Session): Promise<void> {
  const { destAddr } = session.info;
  if (destAddr === null)
    throw new Error(`the provider has no address for ${session.settings.host}`);
  session.peer = session.ep.av.insert(destAddr);
  session.postReceive();
  const { oob } = session.connections;
  if (oob) await awaitServer(session, oob);
  const answer = await firstAnswer(session);
  await applyPeerInfo(session, peerInfoIn(answer));
}

// A server that listens at another address does not answer, as if it did not run.
async function firstAnswer(session: Session): Promise<Uint8Array> {
  try {
    await session.send(addressMessage(session));
    return await session.receive();
  } catch (error) {
    if (!(error instanceof PeerGone) || session.connections.oob?.failure) throw error;
    const { host, destinationPort = DEFAULT_PORT } = session.settings;
    throw new PeerGone(
      `no server answers at ${host}, port ${destinationPort}: it must run with the same options and ` +
        'listen at this address (-s); or give both sides -E to exchange addresses over TCP',
    );
  }
}

// The server opens its endpoint now. A datagram that arrives earlier would be dropped.
async function awaitServer(session: Session, oob: OobSocket): Promise<void> {
  const wait: Wait = (promise) => session.untilWithPauses(promise);
  const handshakes = await startsWithHandshake(session, oob, wait);
  session.dialect = await handshake(session, oob, wait, handshakes);
  if (!handshakes) await session.untilWithPauses(sleep(HEAD_START));
}

async function awaitClient(session: Session): Promise<void> {
  session.postReceive();
  announceEndpoint(session.settings, session.ep);
  const client = firstAddress(session);
  if (session.connections.candidates) await handshakeIfAsked(session, client);
  const { peer, message } = await client;
  session.peer = peer;
  const info = peerInfoIn(message);
  // fabtests answer with one byte.
  await session.send(info ? addressMessage(session) : new Uint8Array(1));
  await applyPeerInfo(session, info);
}

// Ignores datagrams of other programs, because they hold no address.
async function firstAddress(session: Session): Promise<{ peer: Peer; message: Uint8Array }> {
  for (;;) {
    const message = (await session.receiveWithoutLimit()).slice();
    try {
      return { peer: insertFrom(session, message), message };
    } catch {
      session.postReceive();
    }
  }
}

// An address of zeros is invalid, although efa accepts it.
function insertFrom(session: Session, message: Uint8Array): Peer {
  const address = addressIn(session, message);
  if (address.every((byte) => byte === 0)) throw new Error('it has no address');
  return session.ep.av.insert(address);
}

// The bytes of an address: the length of a local address, or up to the NUL if the address is a
// string.
function addressIn(session: Session, message: Uint8Array): Uint8Array {
  if (session.ep.av.addrFormat !== 'FI_ADDR_STR') {
    return message.subarray(0, session.ep.address.length);
  }
  const end = message.indexOf(0);
  return message.subarray(0, end < 0 ? message.length : end + 1);
}

async function exchangeOutOfBand(session: Session, oob: OobSocket, wait: Wait): Promise<Met> {
  const handshakes = await startsWithHandshake(session, oob, wait);
  return swapAddresses(session, oob, wait, await handshake(session, oob, wait, handshakes));
}

/**
 * Reports to the peer that this side is ready, and waits for the peer's report, if the dialect has
 * a handshake. Returns the dialect.
 */
async function handshake(
  session: Session,
  oob: OobSocket,
  wait: Wait,
  handshakes: boolean,
): Promise<Dialect> {
  const dialect = dialectOf(guessRelease(session, handshakes));
  if (!handshakes) return dialect;
  oob.send(HANDSHAKE);
  const answer = await wait(oob.receive(HANDSHAKE.length));
  if (!answer.equals(HANDSHAKE)) throw new PeerGone('the peer reports that it has failed');
  return dialect;
}

// In band, a client's handshake comes before its first message. Without a handshake, the client
// is identified when it synchronizes.
async function handshakeIfAsked(session: Session, received: Promise<unknown>): Promise<void> {
  const wait: Wait = (promise) => promise;
  const meets = async (candidate: OobSocket) => {
    const synchronizes = (await candidate.peek(SYNC.length)).equals(SYNC);
    return handshake(session, candidate, wait, !synchronizes);
  };
  const { connections, settings } = session;
  const met = connections.takeClient({ begins: beginsSync, meets }, settings.connections);
  connections.oobLater = met.then(() => connections.oob as OobSocket);
  connections.oobLater.catch(() => {});
  const dialect = await Promise.race([met, received.then(() => undefined)]);
  session.dialect = dialect ?? dialectOf(guessRelease(session, false));
}

async function swapAddresses(
  session: Session,
  oob: OobSocket,
  wait: Wait,
  dialect: Dialect,
): Promise<Met> {
  const message = await swap(oob, wait, dialect, addressMessage(session, dialect.controlBytes));
  const peer = insertFrom(session, message);
  return { dialect, peer, info: peerInfoIn(message) };
}

/** Exchanges the address of one more endpoint, out of band. */
export async function exchangeEndpointAddress(session: Session, ep: TestEndpoint): Promise<Peer> {
  const { oob } = session.connections;
  if (oob === undefined) throw new Error('there is no out-of-band connection');
  const padded = Buffer.alloc(session.dialect.controlBytes);
  padded.set(ep.address);
  const wait: Wait = (promise) => session.untilWithPauses(promise);
  return ep.av.insert(addressIn(session, await swap(oob, wait, session.dialect, padded)));
}

async function swap(
  oob: OobSocket,
  wait: Wait,
  dialect: Dialect,
  message: Uint8Array,
): Promise<Buffer> {
  oob.send(message);
  const first = await wait(oob.receive(CONTROL_BYTES));
  const bytes = peerInfoIn(first)?.messageBytes ?? dialect.controlBytes;
  await wait(oob.receive(Math.max(bytes - first.length, 0)));
  return first;
}

/**
 * Whether a handshake precedes the addresses, as in fabtests since 1.22. The handshake is four
 * bytes of 0, and no address starts with them. fabtests send it without being asked, so the
 * first bytes show whether there is one.
 */
async function startsWithHandshake(session: Session, oob: OobSocket, wait: Wait): Promise<boolean> {
  if (session.role === 'client') {
    if (session.settings.release !== undefined) return session.dialect.handshakes;
    const arrived = await wait(within(oob.filled(HANDSHAKE.length), HANDSHAKE_WAIT));
    if (!arrived) return session.dialect.handshakes;
  }
  return (await wait(oob.peek(HANDSHAKE.length))).equals(HANDSHAKE);
}

async function within(promise: Promise<void>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, milliseconds, false);
  });
  promise.catch(() => {}); // after the timeout nothing awaits it
  return Promise.race([promise.then(() => true), late]).finally(() => clearTimeout(timer));
}

// If the release of fabtests was not given, only the presence of a handshake hints at it.
function guessRelease(session: Session, handshakes: boolean): string {
  const own = ownRelease(session);
  if (session.settings.release !== undefined || dialectOf(own).handshakes === handshakes)
    return own;
  return handshakes ? '2.6' : '1.17';
}

/** Sets the dialect of both sides, and connects to a peer of this package. */
async function applyPeerInfo(session: Session, info: PeerInfo | undefined): Promise<void> {
  const { connections } = session;
  session.samePackage = info !== undefined;
  if (info === undefined) return connections.closeLink();
  session.dialect = dialectOf(lowerRelease(ownRelease(session), info.release));
  const { host, oobAddress } = session.settings;
  if (connections.listener) {
    await session.untilWithPauses(connections.listener.accept());
  } else if (info.port > 0) {
    const at = oobAddress ?? (session.info.fabricAttr.provName === 'shm' ? 'localhost' : host);
    connections.link = await session.untilWithPauses(
      PeerLink.connect(at ?? 'localhost', info.port, info.token),
    );
  }
}
