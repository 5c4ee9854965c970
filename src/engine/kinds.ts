import type { STATS } from './layout.js';

/** What drives the engine: a native thread, the event loop, or the caller. */
export type DriverKind = 'thread' | 'loop' | 'manual';

/** The activity of a domain's engine since it was opened. */
export type Stats = { readonly [Name in (typeof STATS)[number]]: number };

/** The names of a domain: `info.fabricAttr` and `info.domainAttr`. */
export interface DomainNames {
  readonly fabric: string | null;
  readonly domain: string | null;
  readonly provider: string | null;
}
