import type { Hints } from '../../hints.js';
import { queryInfo } from '../../info.js';
import type { Info } from '../../info-types.js';

/** The options of fi_info(1) that ask for something, by their long names. */
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
  /** Providers instead of endpoints. */
  readonly list?: true;
}

/** What a query that finds nothing can do without. */
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

/** Names in a list as fi_info(1) takes it, `FI_MSG|FI_RMA`; commas need no quotes in a shell. */
export function namesOf(list: string): string[] {
  return list.split(/[|,]/).filter(Boolean).map(nameOf);
}

/** A name of libfabric's, in whatever case. */
export function nameOf(name: string): string {
  return /^bit |_0x/i.test(name) ? name : name.toUpperCase();
}

/** What libfabric answers. The array is empty where nothing matches. */
export function ask(query: Query): Info[] {
  return queryInfo(hintsOf(query));
}

// fi_info takes these, flags of an operation, for capabilities.
const OPERATION_FLAGS: Readonly<Record<string, string>> = { FI_MORE: 'bit 18', FI_PEEK: 'bit 19' };

// Names are checked where they become bits; a wrong one is an error that tells the nearest.
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

/** An empty structure would be a hint, too. */
function given<T extends object>(structure: T): T | undefined {
  return Object.values(structure).some((value) => value !== undefined) ? structure : undefined;
}
