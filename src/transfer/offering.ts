import { checkInteger, checkMilliseconds, checkOptions, namesOf, oneOf } from '../checks.js';
import { invalidArgType } from '../errors.js';
import { type Handle, type NativeRegion, native } from '../native.js';
import type { NativeEvents } from './native-events.js';
import { Offer, type OfferOptions } from './offer.js';
import { movedBy, slicesOf, spanOf } from './pieces.js';
import type { Part } from './place.js';
import type { Rail } from './rails.js';
import { RemoteEngine } from './remote-engine.js';
import { PAGE, type Settings } from './settings.js';
import { type Access, encodeToken } from './token.js';

const EXPIRES = 60_000; // ms
const SLICE_UNIT = 16_384; // bytes for each slice that a peer may plan by itself
const MORE_SLICES = 64;

const NAMES = namesOf<OfferOptions>({ access: 1, to: 1, expires: 1, slices: 1, repeat: 1 });
const RIGHTS = { write: 'FI_REMOTE_WRITE', read: 'FI_REMOTE_READ' } as const;

/** What the offers of an engine need of it. */
export interface Offering {
  readonly handle: Handle<'TransferEngine'>;
  readonly identity: bigint;
  readonly settings: Settings;
  readonly rails: readonly Rail[];
  readonly events: NativeEvents;
}

function checkOfferOptions(options: OfferOptions) {
  const { access, to, expires, slices, repeat = false } = checkOptions('options', options, NAMES);
  if (!(to instanceof RemoteEngine)) {
    throw invalidArgType('options.to', 'a peer: engine.peer(card)', to);
  }
  if (typeof repeat !== 'boolean') throw invalidArgType('options.repeat', 'a boolean', repeat);
  return {
    access: oneOf('options.access', access, ['write', 'read'] as const) as Access,
    to,
    expires: expires === undefined ? EXPIRES : checkMilliseconds('options.expires', expires),
    slices: slices === undefined ? undefined : checkInteger('options.slices', slices, 1, 2 ** 24),
    repeat,
  };
}

/** Registers a part for a peer alone, on all rails, and makes the token. */
export async function makeOffer(
  engine: Offering,
  part: Part,
  options: OfferOptions,
): Promise<Offer> {
  const { handle, identity, settings, rails, events } = engine;
  const { access, to, expires, slices, repeat } = checkOfferOptions(options);
  const { start, end } = spanOf(part.pieces);
  const pieces = movedBy(part.pieces, -start);
  const slice = sliceOf(part.length, rails.length, settings);
  const isWrite = access === 'write';
  const expected = isWrite ? slicesOf(pieces, slice) : 0;
  const most = slices ?? expected + Math.ceil(part.length / SLICE_UNIT) + MORE_SLICES;
  const planned = isWrite ? most : 0;

  const regions = await register(rails, part.place.bytes.subarray(start, end), RIGHTS[access]);
  const opened = orForget(rails, regions, () => {
    const memories = Uint32Array.from(regions, ({ memory }) => memory);
    return native.transferOffer(handle, to.handle, expected, planned, memories, repeat);
  });
  const token = encodeToken(
    {
      access,
      repeats: repeat,
      owner: identity,
      grantee: to.identity,
      offer: opened.id,
      expires: Date.now() + Math.ceil(expires),
      first: opened.first,
      expected,
      planned,
      slice,
      pieces,
      rails: regions.map(({ address, key }) => ({ address, key })),
    },
    settings.secret,
  );
  const offer = new Offer(handle, opened.handle, part, token, access, expires, repeat);
  events.offers.set(opened.id, offer.listener);
  events.changed();
  return offer;
}

// All rails get a part of a transfer if that leaves slices of a useful size.
function sliceOf(length: number, rails: number, { slice, stripe }: Settings): number {
  const share = Math.ceil(length / rails / PAGE) * PAGE;
  return Math.max(Math.min(slice, stripe), Math.min(slice, share));
}

/** Registers memory on all rails, or on none. */
async function register(rails: readonly Rail[], bytes: Uint8Array, right: string) {
  const results = await Promise.allSettled(
    rails.map(({ handle }) => native.memoryRegister(handle, bytes, [right])),
  );
  const failed = results.find((each) => each.status === 'rejected');
  if (failed === undefined) {
    return results.map((each) => (each as PromiseFulfilledResult<NativeRegion>).value);
  }
  for (const [i, each] of results.entries()) {
    if (each.status === 'fulfilled') forget(rails[i] as Rail, each.value);
  }
  throw (failed as PromiseRejectedResult).reason;
}

function orForget<T>(rails: readonly Rail[], regions: readonly NativeRegion[], make: () => T): T {
  try {
    return make();
  } catch (error) {
    for (const [i, region] of regions.entries()) forget(rails[i] as Rail, region);
    throw error;
  }
}

const forget = ({ handle }: Rail, { memory }: NativeRegion) => native.memoryForget(handle, memory);
