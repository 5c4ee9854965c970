import { lookup } from 'node:dns/promises';
import { FabricError } from '../../base/errors.js';
import { nearestName } from '../../base/nearest-name.js';
import { libraryPath } from '../../info/library.js';
import { hasEfaDevice } from '../../softefa/index.js';
import { ask, FILTERS, type Query } from './query.js';

/** Why a query has no results and what to try: lines for a person. */
export async function adviceFor(query: Query): Promise<string[]> {
  return aboutProvider(query) ?? (await aboutName(query)) ?? aboutFilters(query);
}

/** Advice if a name cannot be resolved, which also leaves out all entries of tcp and udp. */
async function aboutName({ node, src_addr = node }: Query): Promise<string[] | undefined> {
  if (src_addr === undefined || src_addr.includes('://')) return undefined;
  return lookup(src_addr).then(
    () => undefined,
    ({ code }) => [`The host name ${src_addr} cannot be resolved (${code}).`],
  );
}

/** Advice if the provider alone has no results. */
function aboutProvider({ provider, list }: Query): string[] | undefined {
  if (provider === undefined || count({ provider, ...(list && { list }) }) > 0) return undefined;
  const { FI_PROVIDER: allowed } = process.env;
  if (allowed) return [`FI_PROVIDER=${allowed} is set, which may leave out '${provider}'.`];
  if (provider.split(';').includes('efa')) return [aboutEfa()];
  const known = ask({ list: true }).map((info) => info.fabricAttr.provName ?? '');
  if (known.includes(provider)) return [`The provider '${provider}' finds no device of its kind.`];
  const nearest = nearestName(provider.slice(0, 64), known);
  const meant = nearest === undefined ? '' : ` Did you mean '${nearest}'?`;
  return [`There is no provider '${provider}'.${meant} -l lists those of this machine.`];
}

function aboutEfa(): string {
  if (process.env.LD_PRELOAD?.includes('libsoftefa')) {
    return `softefa is in place, so ${libraryPath()} must have been built without efa.`;
  }
  if (hasEfaDevice()) {
    return (
      'This machine has an EFA device, but its provider is not in ' +
      `${libraryPath()} or cannot use it: FI_LOG_LEVEL=info FI_LOG_PROV=efa shows more.`
    );
  }
  return (
    'This machine has no EFA device; for one in software:\n' +
    '  npx libfabric softefa -- npx libfabric info -p efa'
  );
}

/** The number of results without each one of the options. */
function aboutFilters(query: Query): string[] {
  const used = FILTERS.filter((name) => query[name] !== undefined);
  if (used.length === 0) return ['No provider finds a device: FI_LOG_LEVEL=info shows more.'];
  const wide = used.flatMap((name) => {
    const entries = count({ ...query, [name]: undefined });
    return entries > 0 ? [`Without ${asOption(query, name)}: ${countText(entries)}.`] : [];
  });
  return wide.length > 0 ? wide : ['Nothing matches even without any single option.'];
}

function asOption(query: Query, name: (typeof FILTERS)[number]): string {
  const value = query[name];
  return `--${name} ${typeof value === 'string' ? value : value?.join('|')}`;
}

const countText = (entries: number) => (entries === 1 ? '1 result' : `${entries} results`);

function count(query: Query): number {
  try {
    return ask(query).length;
  } catch (error) {
    if (FabricError.is(error)) return 0;
    throw error;
  }
}
