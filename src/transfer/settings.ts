import {
  checkInteger,
  checkMilliseconds,
  checkOptions,
  checkText,
  namesOf,
  oneOf,
} from '../base/checks.js';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import { isArray } from '../base/objects.js';
import { isUint8Array, lengthOf } from '../base/views.js';
import { LIVENESS } from './liveness.js';
import type { RailOptions } from './rails.js';

/** Options of `TransferEngine.open()`. */
export interface TransferEngineOptions {
  /**
   * `'all'` (if omitted): every NIC of the provider. A number: this many rails. Names: these NICs. The name
   * of a NIC is the name of its domain in fi_getinfo(3).
   */
  readonly nics?: 'all' | number | readonly string[];
  /**
   * The number of native threads that drive the NICs. If omitted, one for each NIC. If one core can keep
   * several NICs busy, fewer threads use fewer cores.
   */
  readonly threads?: number;
  /** The provider. If omitted, efa; without an EFA device, tcp; otherwise shm. */
  readonly provider?: string;
  /**
   * The fabric's name. If omitted, `'efa'` with that provider. `'efa-direct'` does not use the
   * provider's own protocol. It needs NICs with RDMA writes, and libfabric 2.
   */
  readonly fabric?: string;
  /** The local address that the rails bind to. */
  readonly node?: string;
  /**
   * Requires FI_HMEM, so that register() takes pointers of a GPU or another device. libfabric must be built
   * for the device, and must have found it. If omitted, register() takes dmabufs only.
   */
  readonly hmem?: boolean;
  /** Refuses rails whose path is slower than this. `'rdma'`: the NIC itself writes and reads. */
  readonly require?: 'rdma';
  /**
   * Seals addresses and tokens, so that only engines with the same secret can make them. If omitted,
   * they are only protected from damage. The call copies the bytes of the secret, so they may be wiped after it.
   */
  readonly secret?: string | Uint8Array;
  /** Bytes of a slice. If omitted, 524,288. A small transfer has smaller slices. */
  readonly slice?: number;
  /** The fewest bytes of a slice when a transfer is divided among rails. If omitted, 131,072. */
  readonly stripe?: number;
  /** The most bytes in flight on a rail. If omitted, 4 MiB. Fewer are in flight while slices take more than 100 ms. */
  readonly window?: number;
  /** Slices in flight on a rail. If omitted, 64. */
  readonly depth?: number;
  /**
   * Milliseconds without progress after which a rail's slices go to other rails. If omitted, 50. A link that is full has
   * more: eight times the longest gap that it has shown.
   */
  readonly stall?: number;
  /**
   * Whether peers of this host and user may map the memory from allocate(), and whether this engine may map
   * theirs. A transfer between them is then one copy by the CPU. If omitted, true unless the provider is efa.
   */
  readonly mapMemory?: boolean;
  /**
   * Milliseconds within which a peer that has died or is cut off is lost, while something is open with it. `false`: only
   * errors of the provider show that. If omitted, 5000.
   */
  readonly liveness?: number | false;
  /** The most transfers that run at the same time. Others wait. If omitted, 256. */
  readonly maxTransfers?: number;
}

const NAMES = namesOf<TransferEngineOptions>({
  nics: 1,
  threads: 1,
  provider: 1,
  fabric: 1,
  node: 1,
  hmem: 1,
  require: 1,
  secret: 1,
  slice: 1,
  stripe: 1,
  window: 1,
  depth: 1,
  stall: 1,
  mapMemory: 1,
  maxTransfers: 1,
  liveness: 1,
});

/** The most rails of an engine. */
export const MAX_RAILS = 64;
export const PAGE = 4096;
const STALL = 50; // ms
const MIN_LIVENESS = 100; // ms

/** The checked options, with defaults. */
export interface Settings {
  readonly rails: RailOptions;
  readonly require: 'rdma' | undefined;
  readonly secret: string | Uint8Array;
  readonly slice: number;
  readonly stripe: number;
  readonly mapMemory: boolean | undefined;
  readonly maxTransfers: number;
  /** Milliseconds. Infinity if silence shows nothing. */
  readonly liveness: number;
  readonly native: { readonly window: number; readonly depth: number; readonly stall: number };
}

export function settingsOf(options: TransferEngineOptions): Settings {
  const checked = checkOptions('options', options, NAMES);
  const integer = (
    name: keyof TransferEngineOptions,
    fallback: number,
    min: number,
    max: number,
  ) =>
    checked[name] === undefined
      ? fallback
      : checkInteger(`options.${name}`, checked[name], min, max);
  const { nics = 'all', provider, fabric, node, require, hmem, mapMemory, stall = STALL } = checked;
  if (typeof nics === 'number') checkInteger('options.nics', nics, 1, MAX_RAILS);
  else if (nics !== 'all' && !isArray(nics)) {
    throw invalidArgType('options.nics', "'all', a number or an array of names", nics);
  }
  if (isArray(nics) && (nics.length === 0 || nics.length > MAX_RAILS)) {
    throw invalidArgValue('options.nics', `must have 1 to ${MAX_RAILS} names`);
  }
  if (isArray(nics)) for (const [i, nic] of nics.entries()) checkText(`options.nics[${i}]`, nic);
  for (const [name, value] of Object.entries({ provider, fabric, node }))
    if (value !== undefined) checkText(`options.${name}`, value);
  if (require !== undefined) oneOf('options.require', require, ['rdma']);
  for (const [name, value] of Object.entries({ hmem, mapMemory })) {
    if (value !== undefined && typeof value !== 'boolean') {
      throw invalidArgType(`options.${name}`, 'a boolean', value);
    }
  }
  return {
    rails: {
      nics,
      threads: integer('threads', MAX_RAILS, 1, MAX_RAILS),
      hmem: hmem === true,
      ...(provider !== undefined && { provider }),
      ...(fabric !== undefined && { fabric }),
      ...(node !== undefined && { node }),
    },
    require,
    secret: secretOf(checked.secret),
    slice: integer('slice', 512 * 1024, PAGE, 2 ** 30),
    stripe: integer('stripe', 128 * 1024, PAGE, 2 ** 30),
    mapMemory,
    maxTransfers: integer('maxTransfers', 256, 1, 2 ** 20),
    liveness: livenessOf(checked.liveness),
    native: {
      window: integer('window', 4 * 2 ** 20, PAGE, 2 ** 32),
      depth: integer('depth', 64, 1, 4096),
      stall: Math.ceil(checkMilliseconds('options.stall', stall, 1)),
    },
  };
}

function livenessOf(given: number | false | undefined): number {
  if (given === false) return Number.POSITIVE_INFINITY;
  return given === undefined
    ? LIVENESS
    : checkMilliseconds('options.liveness', given, MIN_LIVENESS);
}

/** The secret of an engine. Empty if there is none. Bytes are copied, so that the caller may wipe them. */
function secretOf(given: unknown): string | Uint8Array {
  if (given === undefined) return '';
  if (typeof given !== 'string' && !isUint8Array(given)) {
    throw invalidArgType('options.secret', 'a string or bytes', given);
  }
  if (typeof given === 'string' ? given === '' : lengthOf(given) === 0) {
    throw invalidArgValue('options.secret', 'is empty: omit it, or give what all engines share');
  }
  return typeof given === 'string' ? given : new Uint8Array(given);
}
