import type { Info } from '../../contract/info-types.js';
import type { Hints } from '../../info/hints.js';
import { queryInfo } from '../../info/info.js';

/** The options of fi_info(1) that make up a query, by their long names. */
export interface Query {
  readonly src_addr?: string;
  readonly node?: string;
  readonly port?: string;
  readonly caps?: readonly string[];
  readonly mode?: readonly string[];
  readonly ep_type?: string;
  readonly addr_format?: string;
  readonly provider?: string;
  readonly domain?: string;
  readonly fabric?: string;
  /** List providers instead of endpoints. */
  readonly list?: true;
}

/** The options that can be dropped from a query without results. */
export const FILTERS = [
  'src_addr',
  'node',
  'port',
  'caps',
  'mode',
  'ep_type',
  'addr_format',
  'provider',
  'domain',
  'fabric',
] as const satisfies readonly (keyof Query)[];

/**
 * The names in a list: `FI_MSG|FI_RMA` as in fi_info(1), or with commas, which a shell does not
 * interpret.
 */
export function namesOf(list: string): string[] {
  return list.split(/[|,]/).filter(Boolean).map(nameOf);
}

/** Normalizes a libfabric name to upper case. */
export function nameOf(name: string): string {
  return /^bit |_0x/i.test(name) ? name : name.toUpperCase();
}

/** The results of fi_getinfo(3). The array is empty if nothing matches. */
export function ask(query: Query): Info[] {
  return queryInfo(hintsOf(query));
}

// fi_info accepts these operation flags as capabilities.
const OPERATION_FLAGS: Readonly<Record<string, string>> = { FI_MORE: 'bit 18', FI_PEEK: 'bit 19' };

// Names are checked when they are converted into bits. The error for an unknown name contains the
// nearest name.
function hintsOf(query: Query): Hints {
  const { caps, provider, fabric, domain } = query;
  const hints = {
    node: query.src_addr ?? query.node,
    service: query.port,
    flags: [
      ...(query.src_addr === undefined ? [] : ['FI_SOURCE']),
      ...(query.list ? ['FI_PROV_ATTR_ONLY'] : []),
    ],
    caps: caps?.map((name) => OPERATION_FLAGS[name] ?? name),
    mode: query.mode,
    addrFormat: query.addr_format,
    epAttr: given({ type: query.ep_type }),
    domainAttr: given({ name: domain }),
    fabricAttr: given({ provName: provider, name: fabric }),
  };
  return hints as Hints;
}

/** Omits an empty structure, because it would also be a hint. */
function given<T extends object>(structure: T): T | undefined {
  return Object.values(structure).some((value) => value !== undefined) ? structure : undefined;
}
