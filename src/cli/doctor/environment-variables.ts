// Environment variables of libfabric and rdma-core: their names and values.
import { native } from '../../contract/native.js';
import type { LoadedLibrary } from './library.js';
import { isReadBy, releasesOf, VARYING } from './variable-releases.js';

/** Variables that libfabric reads with getenv(3) and therefore does not list as parameters. */
export const SETTINGS: ReadonlySet<string> = new Set([
  'FI_LOG_INTERVAL',
  'FI_LOG_LEVEL',
  'FI_LOG_PROV',
  'FI_LOG_SUBSYS',
  'FI_HOOK',
  'FI_PERF_CNTR',
  'FI_PROVIDER',
  'FI_PROVIDER_PATH',
]);

/** Variables of rdma-core: ibv_fork_init(3), libibverbs(7). */
export const RDMA_CORE: ReadonlySet<string> = new Set([
  'IBV_DRIVERS',
  'IBV_FORK_SAFE',
  'IBV_SHOW_WARNINGS',
  'RDMAV_ALLOW_DISASSOC_DESTROY',
  'RDMAV_DRIVERS',
  'RDMAV_FORK_SAFE',
  'RDMAV_HUGEPAGES_SAFE',
  'VERBS_LOG_FILE',
  'VERBS_LOG_LEVEL',
]);

/** Providers. The variables of a provider that is not part of the loaded libfabric are unknown. */
const PROVIDERS = new Set(
  (
    'BGQ COLL CXI EFA GNI HOOK LNX LPP MLX MRAIL NET NETDIR OFI OPX PSM PSM2 PSM3 RSTREAM RXD RXM SHM ' +
    'SM2 SOCKETS TCP UCX UDP USNIC VERBS XNET'
  ).split(' '),
);

const prefixOf = (name: string): string => name.split('_')[1] ?? '';

/** A variable that nothing reads. */
export interface Unread {
  readonly name: string;
  /** The releases of libfabric that read it: `'2.3 and newer'`; undefined if none is known. */
  readonly releases?: string;
  /** The known variable with the most similar name, if no release reads this one. */
  readonly nearest?: string;
}

/** An entry if the loaded libfabric and rdma-core do not read a variable. */
export function unread(name: string, { version, params }: LoadedLibrary): Unread[] {
  const listed = params.map((param) => param.name);
  const ofLibfabric = name.startsWith('FI_');
  const read = ofLibfabric ? [...listed, ...SETTINGS] : [...RDMA_CORE];
  if (read.includes(name)) return [];
  const releases = releasesOf(name);
  if (releases !== undefined) return isReadBy(name, version) ? [] : [{ name, releases }];
  const prefix = prefixOf(name);
  if (ofLibfabric && PROVIDERS.has(prefix) && !listed.some((each) => prefixOf(each) === prefix)) {
    return [];
  }
  const known = ofLibfabric ? [...new Set([...read, ...VARYING])] : read;
  const [, nearest = ''] = /'([^']+)'/.exec(native.nearestNames(name.slice(0, 64), known)) ?? [];
  return [{ name, nearest }];
}

// Values of environment variables, as libfabric reads them.

/** The values that libfabric accepts for a boolean: fi_param_get_bool. */
const BOOLEANS: Readonly<Record<string, boolean>> = {
  '0': false,
  false: false,
  no: false,
  off: false,
  '1': true,
  true: true,
  yes: true,
  on: true,
};

/** The boolean that libfabric reads from a value; undefined if it is not a boolean. */
export const booleanOf = (value: string | undefined): boolean | undefined =>
  value === undefined ? undefined : BOOLEANS[value.toLowerCase()];

export const isOn = (value: string | undefined): boolean => booleanOf(value) === true;
export const isOff = (value: string | undefined): boolean => booleanOf(value) === false;
