import { createHash, randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { TimeLimit } from '../base/time-limit.js';
import type { NativeAgreement } from '../contract/native.js';
import { connectionError } from './errors.js';

const VERSION = 2;
const PREFIX = `libfabric-net ${VERSION} `;
const MAX_LINE = 4096; // bytes
/** The most endpoints of a side. */
export const MAX_ADDRESSES = 8;

/** The parameters that a side proposes. Each applies to what that side receives. */
export interface Terms {
  /** The most bytes of a packet. Both sides use the smaller one. */
  readonly packetSize: number;
  /** Packets that this side has room for. */
  readonly allowance: number;
  /** Bytes that a new stream has room for, and the most that it may have room for later. */
  readonly window: number;
  readonly maxWindow: number;
  /** The most streams at the same time. Both sides use the smaller one. */
  readonly maxStreams: number;
}

export const TERMS: Terms = {
  packetSize: 65_536,
  allowance: 32,
  window: 256 * 1024,
  maxWindow: 4 * 1024 * 1024,
  maxStreams: 65_536,
};

/** What a side with an endpoint proposes: its sessions share the receives. Those that send much get more of them. */
export const FABRIC_TERMS: Terms = { ...TERMS, allowance: 8 };

/** Where the endpoints of a side are. */
export interface FabricAddresses {
  readonly provider: string;
  readonly addresses: readonly Uint8Array[];
  /** Whether they read long bytes from the memory of peers. */
  readonly reads: boolean;
}

/** What both sides have agreed on. */
export interface Agreement extends NativeAgreement {
  /** The endpoints of the peer, if it has any, and they may be used. */
  readonly fabric: FabricAddresses | undefined;
  /** Whether the endpoints that the peer names may be used. */
  readonly isAdmitted: boolean;
  /** Whether this side opens the first socket. */
  readonly opens: boolean;
  /** Whether a side has no native code for packets. The connection then carries the bytes of one socket: PlainSession. */
  readonly isPlain: boolean;
}

/** What this side proposes. */
export interface Proposal {
  /** This side's number of the session. */
  readonly session: number;
  readonly terms: Terms;
  readonly role: Role;
  readonly fabric?: FabricAddresses | undefined;
  /** Whether the endpoints that the peer names may be used. A server whose peer's are not names none of its own. */
  readonly admits?: (fabric: FabricAddresses) => Promise<boolean>;
  /** Whether this side has no native code for packets. */
  readonly isPlain: boolean;
  /** Milliseconds for the agreement. */
  readonly timeout: number;
}

/** Who opens sockets: clients do, servers do not, and of two sides that may, the first one. */
export type Role = 'client' | 'server' | 'either';

/** What a side says first. */
interface Hello extends Omit<Terms, 'maxWindow'> {
  readonly nonce: string;
  readonly session: number;
  readonly role: Role;
  /** Its provider, and the addresses of its endpoints in hexadecimal digits; empty without an endpoint. */
  readonly provider: string;
  readonly addresses: readonly string[];
  readonly reads: boolean;
  readonly isPlain: boolean;
}

type Check = (value: unknown) => boolean;

const integer =
  (from: number, to: number): Check =>
  (value) =>
    Number.isSafeInteger(value) && (value as number) >= from && (value as number) <= to;
const text =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === 'string' && pattern.test(value);

/** The check of each member of a hello. */
const CHECKS: Record<keyof Hello, Check> = {
  packetSize: integer(1024, 65_536),
  allowance: integer(8, 65_536),
  window: integer(65_536, 2 ** 30),
  maxStreams: integer(1, 2 ** 20),
  session: integer(0, 2 ** 32 - 1),
  nonce: text(/^[0-9a-f]{32}$/),
  role: (value) => ['client', 'server', 'either'].includes(value as Role),
  provider: text(/^[\w;-]{0,64}$/),
  addresses: (value) =>
    Array.isArray(value) &&
    value.length <= MAX_ADDRESSES &&
    value.every(text(/^([0-9a-f]{2}){1,256}$/)),
  reads: (value) => typeof value === 'boolean',
  isPlain: (value) => typeof value === 'boolean',
};

let sessions = 0;

/** A number for a session, which no other one of this thread has. */
export function newSession(): number {
  sessions = (sessions + 1) % 2 ** 32;
  return sessions;
}

/**
 * Agrees on a session over a connection: each side sends one line. The side with the larger nonce is the first one. A server
 * sends its line when it has that of the client.
 *
 * @throws Error ERR_SOCKET_BAD_PROTOCOL if the peer sends something else, ETIMEDOUT, or the connection's error.
 */
export async function agree(
  control: Duplex,
  { session, terms, role, fabric, admits, isPlain, timeout }: Proposal,
): Promise<Agreement> {
  const { maxWindow, ...proposed } = terms;
  const sayHello = (named: FabricAddresses | undefined): Hello => {
    const hello: Hello = {
      ...proposed,
      nonce: randomBytes(16).toString('hex'),
      session,
      role,
      provider: named?.provider ?? '',
      reads: named?.reads === true,
      isPlain,
      addresses: (named?.addresses ?? []).map((each) => Buffer.from(each).toString('hex')),
    };
    control.write(`${PREFIX}${JSON.stringify(hello)}\n`);
    return hello;
  };
  const sent = role === 'server' ? undefined : sayHello(fabric);
  const peer = helloOf(await readLine(control, timeout));
  const ofPeer = fabricOf(peer);
  const isAdmitted = !fabric || !ofPeer || !admits || (await admits(ofPeer));
  const own = sent ?? sayHello(isAdmitted ? fabric : undefined);
  if (peer.nonce === own.nonce) throw badProtocol('the peer repeats what this side has sent');
  const first = own.nonce > peer.nonce;
  const nonces = first ? own.nonce + peer.nonce : peer.nonce + own.nonce;
  return {
    secret: createHash('sha256').update(nonces).digest().subarray(0, 16),
    session: own.session,
    peerSession: peer.session,
    first,
    packetSize: Math.min(own.packetSize, peer.packetSize),
    allowance: own.allowance,
    peerAllowance: peer.allowance,
    window: own.window,
    peerWindow: peer.window,
    maxWindow,
    maxStreams: Math.min(own.maxStreams, peer.maxStreams),
    fabric: isAdmitted ? ofPeer : undefined,
    isAdmitted,
    reads: own.reads && peer.reads && own.provider === peer.provider,
    isPlain: own.isPlain || peer.isPlain,
    opens:
      role === 'client' ||
      (role === 'either' && (peer.role === 'either' ? first : peer.role === 'server')),
  };
}

const fabricOf = ({ provider, addresses, reads }: Hello): FabricAddresses | undefined =>
  provider === ''
    ? undefined
    : { provider, addresses: addresses.map((each) => Buffer.from(each, 'hex')), reads };

const badProtocol = (detail: string) => connectionError('ERR_SOCKET_BAD_PROTOCOL', detail);

function helloOf(line: string): Hello {
  if (line.startsWith('HTTP/'))
    throw badProtocol('the peer is an HTTP server: use http.request() with a FabricAgent');
  if (!line.startsWith(PREFIX))
    throw badProtocol('the peer does not speak this version of libfabric/net');
  let hello: Hello;
  try {
    hello = Object(JSON.parse(line.slice(PREFIX.length)));
  } catch {
    throw badProtocol("the peer's hello is malformed");
  }
  for (const [name, isValid] of Object.entries(CHECKS)) {
    if (!isValid(hello[name as keyof Hello]))
      throw badProtocol(`the peer's hello has an invalid ${name}`);
  }
  if (hello.provider !== '' && hello.addresses.length === 0)
    throw badProtocol("the peer's hello names a provider but has no address");
  return hello;
}

/** Reads one line, and leaves what follows it to the next reader. */
function readLine(control: Duplex, timeout: number): Promise<string> {
  if (control.destroyed || control.readableEnded)
    return Promise.reject(connectionError('ECONNRESET', 'the connection ended'));
  return new Promise((resolve, reject) => {
    let read = Buffer.alloc(0);
    const limit = new TimeLimit(timeout, () =>
      fail(connectionError('ETIMEDOUT', `no hello within ${Math.round(timeout)} ms`)),
    );
    const stop = () => {
      limit.clear();
      control.off('data', onData).off('error', fail).off('close', onClose).off('end', onClose);
      control.pause();
    };
    const fail = (error: Error) => {
      stop();
      reject(error);
    };
    const onClose = () => fail(connectionError('ECONNRESET', 'the connection ended'));
    const onData = (bytes: Buffer) => {
      read = Buffer.concat([read, bytes]);
      const end = read.indexOf(10);
      if (end < 0 && read.length <= MAX_LINE) return;
      if (end < 0 || end > MAX_LINE) return fail(badProtocol("the peer's hello is too long"));
      stop();
      if (end + 1 < read.length) control.unshift(read.subarray(end + 1));
      resolve(read.toString('latin1', 0, end));
    };
    control.on('data', onData).on('error', fail).on('close', onClose).on('end', onClose);
    control.resume(); // the program may have paused it
  });
}
