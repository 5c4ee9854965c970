import type { AddrFormat, Cap, EpType, GetInfoFlag, Mode, UnknownBit } from './flags.js';
import type { DomainAttr, EpAttr, FabricAttr, RxAttr, TxAttr } from './info-types.js';

/**
 * What to look for, in the shape of the entries that come back: fi_getinfo(3). Sizes and counts are
 * numbers or bigints; a member that is undefined is not asked for.
 */
export interface Hints {
  /**
   * The version of the interfaces to speak, `'1.17'`: from 1.5 to `version().apiVersion`, which is the
   * default. Providers switch features on it: asked for less than 1.18, efa emulates RDMA on some
   * devices.
   */
  readonly apiVersion?: string | undefined;
  /** A host name or address to reach, or with FI_SOURCE to be reached at; at most 1024 bytes. */
  readonly node?: string | undefined;
  /** A port number or service name; at most 1024 bytes. */
  readonly service?: string | undefined;
  readonly flags?: readonly GetInfoFlag[] | undefined;
  readonly caps?: readonly (Cap | UnknownBit)[] | undefined;
  /** What the caller is able to do for a provider. */
  readonly mode?: readonly (Mode | UnknownBit)[] | undefined;
  readonly addrFormat?: AddrFormat | undefined;
  /** An address in `addrFormat`, which must be given with it. */
  readonly srcAddr?: Uint8Array | null | undefined;
  /** An address in `addrFormat`, which must be given with it. */
  readonly destAddr?: Uint8Array | null | undefined;
  readonly txAttr?: Asked<TxAttr> | undefined;
  readonly rxAttr?: Asked<RxAttr> | undefined;
  readonly epAttr?: Asked<EpAttr> | undefined;
  /** Entries of other domains than the one named are left out, whatever the provider offers. */
  readonly domainAttr?: Asked<DomainAttr> | undefined;
  /**
   * A provider is found by its name, and with it what is layered over it: `'tcp'` also finds
   * `'tcp;ofi_rxm'`.
   */
  readonly fabricAttr?: Asked<Omit<FabricAttr, 'apiVersion'>> | undefined;
}

/** Attributes as hints: each may be left out, and integers may be numbers or bigints. */
export type Asked<T> = { readonly [K in keyof T]?: Wider<T[K]> | undefined };

type Wider<V> = V extends number | bigint ? number | bigint : V;

/** The endpoint type that hints ask for. */
export type EpTypeOf<H> = H extends { readonly epAttr: { readonly type: infer T extends EpType } }
  ? T
  : EpType;

/** The capabilities that hints ask for; all where they do not say. */
export type CapsOf<H> = H extends { readonly caps: readonly (infer C)[] } ? Extract<C, Cap> : Cap;
