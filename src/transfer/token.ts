import { uncloneable } from '../base/describe.js';
import { errnoByCode } from '../base/error-codes.js';
import { FabricError, invalidArgValue } from '../base/errors.js';
import type { NativeGrant } from '../contract/native.js';
import type { Access } from '../diagnostics/transfer-state.js';
import { lengthOfPieces, type Pieces, spanOf } from './pieces.js';
import { seal, unseal, Writer } from './sealed.js';
import { MAX_RAILS } from './settings.js';

const UNCLONEABLE = uncloneable(
  'a Grant belongs to its engine: send the token, for remote.grant()',
);

const ACCESS = ['write', 'read'] as const;
const REPEATS = 0x10;

/** The address and the key of the memory on one rail of the owner. */
export interface RailKey {
  readonly address: bigint;
  readonly key: bigint;
}

/** The file of the granted memory, for other processes of the owner's host. */
export interface GrantedFile {
  /** The descriptor and the inode in the process of the owner: proc_pid_fd(5). */
  readonly fd: number;
  readonly inode: bigint;
  /** Bytes from the start of the file to the first piece. */
  readonly offset: number;
}

/** The content of a token. */
export interface TokenContent {
  readonly access: Access;
  /** Whether the peer may repeat the transfer. */
  readonly repeats: boolean;
  /** The engine that owns the memory. */
  readonly owner: bigint;
  /** The only engine that may use the token. */
  readonly grantee: bigint;
  /** The number of the offer at the owner. */
  readonly offer: number;
  /** The position of the offer among all offers of the owner. */
  readonly serial: number;
  /** The position of the previous offer to this grantee. */
  readonly before: number;
  /** Milliseconds since 1970. */
  readonly expires: number;
  /**
   * The numbers that arrive with slices. `first` is the first number, `expected` the count of numbers for
   * slices of `slice` bytes, and `planned` the count of numbers for other slices.
   */
  readonly first: number;
  readonly expected: number;
  readonly planned: number;
  /** Bytes of a slice. */
  readonly slice: number;
  /** Parts of the granted memory. The offsets count from the address of each rail. */
  readonly pieces: Pieces;
  /** By rail of the owner; undefined if the rail cannot reach the memory. */
  readonly rails: readonly (RailKey | undefined)[];
  /** The file of the memory, for processes of the same host. */
  readonly file: GrantedFile | undefined;
}

// The smallest slice of the settings. The list of smaller slices could fill the memory.
const MIN_SLICE = 4096;
const MAX_PIECES = 1 << 20;
const MAX_NUMBER = 2 ** 32 - 1;

export function encodeToken(content: TokenContent, secret: string | Uint8Array): string {
  const writer = new Writer()
    .byte(ACCESS.indexOf(content.access) + (content.repeats ? REPEATS : 0))
    .long(content.owner)
    .long(content.grantee)
    .count(content.offer)
    .count(content.serial)
    .count(content.before)
    .count(content.expires)
    .count(content.first)
    .count(content.expected)
    .count(content.planned)
    .count(content.slice)
    .count(content.rails.length);
  for (const rail of content.rails) {
    writer.byte(rail === undefined ? 0 : 1);
    if (rail !== undefined) writer.long(rail.address).long(rail.key);
  }
  writer.count(content.pieces.length / 2);
  for (const value of content.pieces) writer.count(value);
  const { file } = content;
  writer.byte(file === undefined ? 0 : 1);
  if (file !== undefined) writer.count(file.fd).long(file.inode).count(file.offset);
  return seal('token', writer.done(), secret);
}

export function decodeToken(text: unknown, secret: string | Uint8Array): TokenContent {
  const reader = unseal('token', text, secret);
  const kind = reader.byte();
  const access = ACCESS[kind % REPEATS];
  const repeats = kind >= REPEATS;
  const owner = reader.long();
  const grantee = reader.long();
  const [offer, serial, before, expires, first, expected, planned, slice, railCount] = Array.from(
    { length: 9 },
    () => reader.count(),
  ) as [number, number, number, number, number, number, number, number, number];
  if (access === undefined || kind >= 2 * REPEATS || railCount === 0 || railCount > MAX_RAILS)
    throw reader.malformed();
  if (before >= serial) throw reader.malformed();
  if (slice < MIN_SLICE || slice > 2 ** 31 || first + expected + planned > MAX_NUMBER + 1) {
    throw reader.malformed();
  }
  const rails = Array.from({ length: railCount }, () =>
    reader.byte() === 0 ? undefined : { address: reader.long(), key: reader.long() },
  );
  if (rails.every((rail) => rail === undefined)) throw reader.malformed();
  const pieceCount = reader.count();
  if (pieceCount === 0 || pieceCount > MAX_PIECES) throw reader.malformed();
  const pieces = Float64Array.from({ length: 2 * pieceCount }, () => reader.count());
  const file =
    reader.byte() === 0
      ? undefined
      : { fd: reader.count(), inode: reader.long(), offset: reader.count() };
  if (!reader.atEnd) throw reader.malformed();
  return {
    access,
    repeats,
    owner,
    grantee,
    offer,
    serial,
    before,
    expires,
    first,
    expected,
    planned,
    slice,
    pieces,
    rails,
    file,
  };
}

/** The content of a token that this engine may use. Nothing that a program changes in it has an effect. */
export interface Grant extends TokenContent {
  /** Bytes. */
  readonly length: number;
  /** A copy of the parts of the granted memory. */
  readonly pieces: Pieces;
}

/** @internal The prototype of all grants. */
export const grantPrototype: object = {};

// The grants that grantOf() has made, and their content in the form that the native side needs. The program cannot reach
// these arrays: it could change the elements even of a frozen one.
const grants = new WeakMap<object, NativeGrant>();

export const isGrant = (value: unknown): value is Grant =>
  typeof value === 'object' && value !== null && grants.has(value);

/** The content of a grant for the native side. */
export function nativeGrantOf(grant: Grant): NativeGrant {
  const content = grants.get(grant);
  if (content === undefined) throw invalidArgValue('token', 'is not of remote.grant()');
  return content;
}

/** Throws unless a token is from this owner and for this engine. */
export function checkEngines(
  token: Pick<TokenContent, 'owner' | 'grantee'>,
  owner: bigint,
  self: bigint,
): void {
  if (token.owner !== owner)
    throw invalidArgValue('token', 'is from another engine than this peer');
  if (token.grantee !== self) throw invalidArgValue('token', 'is for another engine than this one');
}

/** Throws if a token has expired. @param what the peer can make in its place. */
export function checkExpiry(expires: number, what: 'offer' | 'stream'): void {
  const late = Date.now() - expires;
  if (late <= 0) return;
  throw new FabricError(errnoByCode.FI_EKEYREJECTED ?? errnoByCode.FI_EACCES, 'transfer', {
    detail: `the token has expired ${late} ms ago, by the clock of this host`,
    hint: `ask the peer for another ${what}, and compare the clocks of the hosts`,
  });
}

/** Makes the grant of a token. Throws unless the token is from this owner and for this engine. */
export function grantOf(content: TokenContent, owner: bigint, self: bigint): Grant {
  checkEngines(content, owner, self);
  const { pieces, rails, file, ...rest } = content;
  const targets = rails.flatMap((rail) =>
    rail === undefined ? [0n, 0n, 0n] : [rail.address, rail.key, 1n],
  );
  const own: NativeGrant = Object.freeze({
    offer: content.offer,
    serial: content.serial,
    before: content.before,
    first: content.first,
    expected: content.expected,
    planned: content.planned,
    slice: content.slice,
    repeats: content.repeats,
    length: lengthOfPieces(pieces),
    span: spanOf(pieces).end,
    pieces: Float64Array.from(pieces),
    targets: BigUint64Array.from(targets),
  });
  const grant: Grant = Object.assign(
    Object.create(grantPrototype),
    { uncloneable: UNCLONEABLE },
    rest,
    {
      rails: Object.freeze(rails.map((rail) => rail && Object.freeze({ ...rail }))),
      file: file && Object.freeze({ ...file }),
      length: own.length,
    },
  );
  Object.defineProperty(grant, 'pieces', {
    get: () => Float64Array.from(own.pieces),
    enumerable: true,
  });
  grants.set(grant, own);
  return Object.freeze(grant);
}

/** Throws if a grant has expired or does not allow this access. */
export function checkGrant(grant: Grant, access: Access): void {
  if (grant.access !== access)
    throw invalidArgValue('token', `is for a ${grant.access}, not a ${access}`);
  checkExpiry(grant.expires, 'offer');
}
