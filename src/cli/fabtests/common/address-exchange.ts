import { setTimeout as sleep } from 'node:timers/promises';
import type { Peer } from '../../../peer.js';
import { dialectOf, lowerRelease, usualRelease } from './dialect.js';
import { type OobSocket, PeerGone } from './oob.js';
import type { TestEndpoint } from './open-endpoint.js';
import { CONTROL_BYTES, encodeAddress, type PeerInfo, peerInfoIn } from './peer-info.js';
import { PeerLink, PeerListener } from './peer-link.js';
import type { Session } from './session.js';

// What a client waits for its server to speak first, in milliseconds: fabtests' clients wait 1 s.
const LISTEN = 300;
// What fabtests' clients give the server after they have met beside the fabric, in milliseconds.
const HEAD_START = 1000;
const GREETING = Buffer.alloc(4);

/**
 * Exchanges the addresses of both sides as fabtests do, in band or out of band, and finds out whom it
 * has to do with: from then on `session.peer` is there, `session.dialect` is what both speak, and
 * sides of this package have a peerLink.
 */
export async function introduceSides(session: Session): Promise<void> {
  await introduceBy(session, exchangeOutOfBand);
}

/** The same with another client on the same socket, or in a session after the first: no greeting. */
export async function introduceAgain(session: Session): Promise<void> {
  await introduceBy(session, swapIntroductions);
}

/** The same in a session after the first, whose sides greet once more where they did so then. */
export async function introduceAnew(session: Session): Promise<void> {
  await introduceBy(session, async (_, oob) => {
    await greet(session, oob, session.dialect.greets);
    await swapIntroductions(session, oob);
  });
}

async function introduceBy(
  session: Session,
  outOfBand: (session: Session, oob: OobSocket) => Promise<void>,
): Promise<void> {
  if (session.role === 'server') session.listener = await PeerListener.open();
  const oob = session.settings.oobExchange ? session.oob : undefined;
  if (oob) await outOfBand(session, oob);
  else if (session.role === 'client') await callServer(session);
  else await awaitClient(session);
}

const ownRelease = (session: Session) => session.settings.release ?? usualRelease();

const introductionOf = (session: Session, messageBytes: number): PeerInfo => ({
  release: ownRelease(session),
  port: session.listener?.port ?? 0,
  messageBytes,
});

const addressOf = (session: Session, messageBytes = CONTROL_BYTES) =>
  encodeAddress(session.ep.address, introductionOf(session, messageBytes));

/** In band: the client knows where the server is, and sends its own address there. */
async function callServer(session: Session): Promise<void> {
  const { destAddr } = session.info;
  if (destAddr === null)
    throw new Error(`the provider has no address for ${session.settings.host}`);
  session.peer = session.ep.av.insert(destAddr);
  session.postReceive();
  if (session.oob) await awaitServer(session, session.oob);
  await session.send(addressOf(session));
  await meet(session, peerInfoIn(await session.receive()));
}

// The server opens its endpoint now; a datagram that comes before would be lost.
async function awaitServer(session: Session, oob: OobSocket): Promise<void> {
  const greets = await greetsFirst(session, oob);
  await greet(session, oob, greets);
  if (!greets) await session.until(sleep(HEAD_START));
}

async function awaitClient(session: Session): Promise<void> {
  session.postReceive();
  const received = session.receiveAtLast();
  if (session.oob) await greetIfGreeted(session, session.oob, received);
  const message = (await received).slice();
  session.peer = session.ep.av.insert(addressIn(session, message));
  const introduction = peerInfoIn(message);
  // One byte is what fabtests answer.
  await session.send(introduction ? addressOf(session) : new Uint8Array(1));
  await meet(session, introduction);
}

// What an address vector takes: as many bytes as an address of ours has; texts end with their NUL.
function addressIn(session: Session, message: Uint8Array): Uint8Array {
  if (session.ep.av.addrFormat !== 'FI_ADDR_STR') {
    return message.subarray(0, session.ep.address.length);
  }
  const end = message.indexOf(0);
  return message.subarray(0, end < 0 ? message.length : end + 1);
}

async function exchangeOutOfBand(session: Session, oob: OobSocket): Promise<void> {
  await greet(session, oob, await greetsFirst(session, oob));
  await swapIntroductions(session, oob);
}

/** Tells the other side that this one is ready, and hears the same, where the sides greet at all. */
async function greet(session: Session, oob: OobSocket, greets: boolean): Promise<void> {
  session.dialect = dialectOf(releaseGuessed(session, greets));
  if (!greets) return;
  oob.send(GREETING);
  const answer = await session.until(oob.receive(GREETING.length));
  if (!answer.equals(GREETING)) throw new PeerGone('the other side reports that it has failed');
}

// In band a client that greets does so before its first message.
async function greetIfGreeted(
  session: Session,
  oob: OobSocket,
  received: Promise<unknown>,
): Promise<void> {
  const greeted = oob.filled(GREETING.length).then(() => true);
  const greets = await Promise.race([greeted, received.then(() => false)]);
  await greet(session, oob, greets);
}

async function swapIntroductions(session: Session, oob: OobSocket): Promise<void> {
  const message = await swap(session, oob, addressOf(session, session.dialect.controlBytes));
  session.peer = session.ep.av.insert(addressIn(session, message));
  await meet(session, peerInfoIn(message));
}

/** Tells the other side the address of an endpoint, out of band, and learns of one there. */
export async function swapAddresses(session: Session, ep: TestEndpoint): Promise<Peer> {
  if (session.oob === undefined) throw new Error('there is no connection beside the fabric');
  const padded = Buffer.alloc(session.dialect.controlBytes);
  padded.set(ep.address);
  return ep.av.insert(addressIn(session, await swap(session, session.oob, padded)));
}

async function swap(session: Session, oob: OobSocket, message: Uint8Array): Promise<Buffer> {
  oob.send(message);
  const first = await session.until(oob.receive(CONTROL_BYTES));
  const bytes = peerInfoIn(first)?.messageBytes ?? session.dialect.controlBytes;
  await session.until(oob.receive(bytes - first.length));
  return first;
}

/**
 * Whether the sides greet before they exchange addresses, as fabtests do since 1.22: four bytes of 0,
 * with which no address starts. fabtests speak without being asked, so who speaks first tells.
 */
async function greetsFirst(session: Session, oob: OobSocket): Promise<boolean> {
  if (session.role === 'client') {
    if (session.settings.release !== undefined) return session.dialect.greets;
    const heard = await session.until(within(oob.filled(GREETING.length), LISTEN));
    if (!heard) return session.dialect.greets;
  }
  return (await session.until(oob.peek(GREETING.length))).equals(GREETING);
}

async function within(promise: Promise<void>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, milliseconds, false);
  });
  promise.catch(() => {}); // nobody waits for it where the time is over first
  return Promise.race([promise.then(() => true), late]).finally(() => clearTimeout(timer));
}

// Of fabtests whose release was not given, the greeting is all that is known.
function releaseGuessed(session: Session, greets: boolean): string {
  const own = ownRelease(session);
  if (session.settings.release !== undefined || dialectOf(own).greets === greets) return own;
  return greets ? '2.6' : '1.17';
}

/** With the other side known: what both speak, and a link where it is of this package. */
async function meet(session: Session, introduction: PeerInfo | undefined): Promise<void> {
  session.akin = introduction !== undefined;
  if (introduction === undefined) {
    session.listener?.close();
    session.listener = undefined;
    return;
  }
  session.dialect = dialectOf(lowerRelease(ownRelease(session), introduction.release));
  const { host, oobAddress } = session.settings;
  if (session.listener) {
    await session.until(session.listener.accept());
  } else if (introduction.port > 0) {
    const at = oobAddress ?? (session.info.fabricAttr.provName === 'shm' ? 'localhost' : host);
    session.peerLink = await session.until(PeerLink.connect(at ?? 'localhost', introduction.port));
  }
}
