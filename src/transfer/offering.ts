import { checkInteger, checkMilliseconds, checkOptions, namesOf, oneOf } from '../base/checks.js';
import { invalidArgType } from '../base/errors.js';
import { type Handle, type NativeRegion, native } from '../contract/native.js';
import type { Access } from '../diagnostics/transfer-state.js';
import type { HeldDeviceMemory } from '../memory/device-memory.js';
import type { Activity } from './activity.js';
import { engineClosed } from './errors.js';
import type { MemoryPart, TransferMemory } from './memory.js';
import type { NativeEvents } from './native-events.js';
import { Offer, type OfferOptions } from './offer.js';
import { movedBy, spanOf } from './pieces.js';
import { type Rail, working } from './rails.js';
import { RemoteEngine } from './remote-engine.js';
import { PAGE, type Settings } from './settings.js';
import { encodeToken } from './token.js';

const EXPIRES = 60_000; // ms
const SLICE_UNIT = 16_384; // bytes for each slice that a peer may plan by itself
const MORE_SLICES = 64;

const NAMES = namesOf<OfferOptions>({ access: 1, to: 1, expires: 1, slices: 1, repeat: 1 });
const RIGHTS = { write: 'FI_REMOTE_WRITE', read: 'FI_REMOTE_READ' } as const;

/** The state of an engine that its offers need. */
export interface Offering {
  readonly handle: Handle<'TransferEngine'>;
  readonly identity: bigint;
  readonly settings: Settings;
  readonly rails: readonly Rail[];
  readonly events: NativeEvents;
  readonly activity: Activity;
}

function checkOfferOptions(options: OfferOptions, engine: Handle<'TransferEngine'>) {
  const { access, to, expires, slices, repeat = false } = checkOptions('options', options, NAMES);
  if (typeof repeat !== 'boolean') throw invalidArgType('options.repeat', 'a boolean', repeat);
  return {
    access: oneOf('options.access', access, ['write', 'read'] as const) as Access,
    to: RemoteEngine.check('options.to', to, engine),
    expires: expires === undefined ? EXPIRES : checkMilliseconds('options.expires', expires),
    slices: slices === undefined ? undefined : checkInteger('options.slices', slices, 1, 2 ** 24),
    repeat,
  };
}

/** Registers a part of memory for one peer, on the rails of the memory, and makes the token. */
export async function makeOffer(
  engine: Offering,
  part: MemoryPart,
  options: OfferOptions,
): Promise<Offer> {
  const { handle, identity, settings, events, activity } = engine;
  const { access, to, expires, slices, repeat } = checkOfferOptions(options, handle);
  const { start, end } = spanOf(part.pieces);
  const pieces = movedBy(part.pieces, -start);
  const { handles: local } = part.memory;
  const rails = working(engine.rails.map((rail, i) => (local[i] === 0 ? undefined : rail)));
  const slice = sliceOf(part.length, rails.filter(Boolean).length, settings);
  const isWrite = access === 'write';
  const expected = isWrite ? native.transferSlices(handle, pieces, slice) : 0;
  const most = slices ?? expected + Math.ceil(part.length / SLICE_UNIT) + MORE_SLICES;
  const planned = isWrite ? most : 0;

  const regions = await register(rails, part.memory, start, end, RIGHTS[access]);
  const file = to.maps ? part.memory.file : undefined;
  const opened = orForget(rails, regions, () => {
    if (events.isClosing) throw engineClosed();
    const memories = Uint32Array.from(regions, (region) => region?.memory ?? 0);
    const mappable = file !== undefined;
    const memory = { memories, expected, planned, repeats: repeat, mappable };
    return native.transferOffer(handle, to.handle, memory);
  });
  const token = encodeToken(
    {
      access,
      repeats: repeat,
      owner: identity,
      grantee: to.identity,
      offer: opened.id,
      serial: opened.serial,
      before: opened.before,
      expires: Date.now() + Math.ceil(expires),
      first: opened.first,
      expected,
      planned,
      slice,
      pieces,
      rails: regions.map((region) => region && { address: region.address, key: region.key }),
      file: file && { ...file, offset: start },
    },
    settings.secret,
  );
  const mayCopy = () => file !== undefined && !native.transferEndCopies(opened.handle, file.fd);
  const made = { part, to, token, access, expires, repeat };
  const offer = new Offer(handle, opened, activity, made, mayCopy);
  events.offers.set(opened.id, offer.listener);
  to.opened(1);
  events.changed();
  activity.offerOpened(offer);
  to.endIfGone(offer.listener);
  return offer;
}

// Every rail of the memory gets a part of a transfer, unless its slices would be smaller than `stripe`.
function sliceOf(length: number, rails: number, { slice, stripe }: Settings): number {
  const share = Math.ceil(length / rails / PAGE) * PAGE;
  return Math.max(Math.min(slice, stripe), Math.min(slice, share));
}

type PerRail<T> = readonly (T | undefined)[];

/** Registers memory for a peer on all of these rails, or on none. */
async function register(
  rails: PerRail<Rail>,
  memory: TransferMemory,
  start: number,
  end: number,
  right: string,
) {
  const { device } = memory;
  const bytes = device === undefined ? memory.bytes.subarray(start, end) : undefined;
  const registerOn = ({ handle }: Rail) =>
    bytes === undefined
      ? native.memoryRegisterDevice(
          handle,
          (device as HeldDeviceMemory).part(start, end),
          [right],
          [],
        )
      : native.memoryRegister(handle, bytes, [right], [], true);
  const results = await Promise.allSettled(rails.map(async (rail) => rail && registerOn(rail)));
  const regions = results.map((each) => (each.status === 'fulfilled' ? each.value : undefined));
  const failed = results.find((each) => each.status === 'rejected');
  if (failed === undefined) return regions;
  forget(rails, regions);
  throw (failed as PromiseRejectedResult).reason;
}

function orForget<T>(rails: PerRail<Rail>, regions: PerRail<NativeRegion>, make: () => T): T {
  try {
    return make();
  } catch (error) {
    forget(rails, regions);
    throw error;
  }
}

function forget(rails: PerRail<Rail>, regions: PerRail<NativeRegion>): void {
  for (const [i, region] of regions.entries()) {
    if (region !== undefined) native.memoryForget((rails[i] as Rail).handle, region.memory);
  }
}
