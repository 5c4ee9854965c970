import type { AddrFormat, Cap, EpType, GetInfoFlag, Mode, UnknownBit } from '../base/flags.js';
import type { DomainAttr, EpAttr, FabricAttr, RxAttr, TxAttr } from '../contract/info-types.js';

/**
 * Hints for getInfo(), in the shape of its entries: fi_getinfo(3). Sizes and counts are numbers or
 * bigints. An undefined member is not a hint.
 */
export interface Hints {
  /**
   * The libfabric API version to request, `'1.17'`: from 1.5 to `version().apiVersion`, which is
   * the default. Providers enable features by it: below 1.18, efa emulates RDMA on some devices.
   */
  readonly apiVersion?: string | undefined;
  /** The host name or address of the peer, or with FI_SOURCE of this host. At most 1024 bytes. */
  readonly node?: string | undefined;
  /** A port, from 0 to 65535, or the name of a service. At most 1024 bytes. */
  readonly service?: string | undefined;
  readonly flags?: readonly GetInfoFlag[] | undefined;
  readonly caps?: readonly (Cap | UnknownBit)[] | undefined;
  /** The modes that the caller supports. */
  readonly mode?: readonly (Mode | UnknownBit)[] | undefined;
  readonly addrFormat?: AddrFormat | undefined;
  /** An address in `addrFormat`, which must be given with it. */
  readonly srcAddr?: Uint8Array | null | undefined;
  /** An address in `addrFormat`, which must be given with it. */
  readonly destAddr?: Uint8Array | null | undefined;
  readonly txAttr?: Asked<TxAttr> | undefined;
  readonly rxAttr?: Asked<RxAttr> | undefined;
  readonly epAttr?: Asked<EpAttr> | undefined;
  /**
   * If this names a domain, entries of other domains are left out, even if the provider returns
   * them.
   */
  readonly domainAttr?: Asked<DomainAttr> | undefined;
  /**
   * A provider's name also matches the providers layered over it: `'tcp'` also finds
   * `'tcp;ofi_rxm'`.
   */
  readonly fabricAttr?: Asked<Omit<FabricAttr, 'apiVersion'>> | undefined;
}

/** Attributes as hints: each is optional, and integers may be numbers or bigints. */
export type Asked<T> = { readonly [K in keyof T]?: Wider<T[K]> | undefined };

type Wider<V> = V extends number | bigint ? number | bigint : V;

/** The endpoint type that hints request. */
export type EpTypeOf<H> = H extends { readonly epAttr: { readonly type: infer T extends EpType } }
  ? T
  : EpType;

/** The capabilities that hints request, or all if they name none. */
export type CapsOf<H> = H extends { readonly caps: readonly (infer C)[] } ? Extract<C, Cap> : Cap;
