// Addresses that a stranger names, and the connection over which they came. Without this check whoever connects to a server
// makes it connect to any host and port: a request forgery.
import { isIP, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { checkObject, checkString } from './checks.js';
import { FabricError, invalidArgValue } from './errors.js';
import { formatSocketAddress, parseSocketAddress } from './socket-address.js';

/** A connection over which an address comes: a socket of node:net, node:tls or libfabric/net. */
export interface Origin {
  /** The IP address of the host that it comes from, or of the last proxy. Undefined for a Unix socket. */
  readonly remoteAddress?: string | undefined;
  readonly destroyed?: boolean;
}

/** What a peer names as its endpoints. */
export interface NamedAddress {
  /** The identity of its engine, in hexadecimal digits. Undefined for a session of sockets. */
  readonly id: string | undefined;
  readonly provider: string;
  /** `IP:PORT` of each endpoint. Empty for a provider that is not over IP, such as efa and shm. */
  readonly places: readonly string[];
}

/** Decides about an address that cannot be tied to its connection. */
export type Admit = (address: NamedAddress, connection: Origin) => boolean | Promise<boolean>;

/** The endpoints that a stranger names. */
export interface Named {
  readonly id?: string;
  readonly provider: string;
  /** Of the addresses: fi_getinfo(3). */
  readonly format: string;
  readonly addresses: readonly Uint8Array[];
}

const IP_FORMATS: readonly string[] = ['FI_SOCKADDR', 'FI_SOCKADDR_IN', 'FI_SOCKADDR_IN6'];
const HERE = 'this host';

/** The IP address of `IP:PORT`. One of IPv4 within IPv6 is that of IPv4. */
function hostOf(place: string): string {
  const host = place.slice(0, place.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(host) ?? [];
  if (high === undefined || low === undefined) return host;
  const groups = [high, low].map((each) => Number.parseInt(each, 16));
  return groups.flatMap((each) => [each >> 8, each & 0xff]).join('.');
}

/** One spelling for each IP address. */
function canonical(address: string): string {
  const [ip = ''] = address.split('%');
  const bytes = parseSocketAddress(isIPv6(ip) ? `[${ip}]:0` : `${ip}:0`);
  return hostOf((bytes && formatSocketAddress(bytes)) ?? '');
}

// It opens a socket. Without one, nobody can tell whose an address is.
function interfaces(): ReturnType<typeof networkInterfaces> {
  try {
    return networkInterfaces();
  } catch (cause) {
    const { errno = 0 } = cause as NodeJS.ErrnoException;
    throw new FabricError(Math.abs(errno), 'getifaddrs', {
      detail:
        'the addresses of this host cannot be listed, so the address of a peer cannot be admitted',
      hint: 'raise the limit of file descriptors (ulimit -n), or try again later',
      cause,
    });
  }
}

const ownHosts = (): string[] =>
  Object.values(interfaces()).flatMap((each) => each?.map((at) => canonical(at.address)) ?? []);

/** The host that a connection comes from: its IP address, or empty if it cannot be known. */
export function sourceOf(connection: Origin): string {
  const { remoteAddress, destroyed } = connection;
  if (destroyed) return '';
  if (remoteAddress !== undefined) return canonical(remoteAddress);
  // A connection of TCP that was reset has no address either.
  const { _handle } = connection as { readonly _handle?: object | null };
  return _handle?.constructor?.name === 'Pipe' ? HERE : '';
}

/** Checks for a connection that a program gives. */
export function checkOrigin(name: string, connection: Origin): Origin {
  const { remoteAddress } = checkObject(name, connection);
  if (remoteAddress === undefined) return connection;
  const [ip = ''] = checkString(`${name}.remoteAddress`, remoteAddress).split('%');
  if (isIP(ip) === 0) throw invalidArgValue(`${name}.remoteAddress`, 'must be an IP address');
  return connection;
}

const FORWARDED = ['forwarded', 'x-forwarded-for', 'via'];

/** The same for the connection of a request. A proxy that says so is not the host that the request comes from. */
export const sourceOfRequest = (
  connection: Origin,
  headers: Readonly<Record<string, unknown>>,
): string => (FORWARDED.some((name) => headers[name] !== undefined) ? '' : sourceOf(connection));

/** Whether a source is this host. */
export const isHere = (source: string): boolean =>
  source === HERE || (source !== '' && ownHosts().includes(source));

function isOf(source: string, place: string | undefined): boolean {
  if (place === undefined || source === '') return false;
  const host = hostOf(place);
  return host === source || (isHere(source) && ownHosts().includes(host));
}

const placesOf = ({ format, addresses }: Named): (string | undefined)[] =>
  IP_FORMATS.includes(format) ? addresses.map(formatSocketAddress) : [];

/**
 * Which of the endpoints that a stranger names may be used: those of the host that its connection came from, and all if
 * `admit` says so. An endpoint of shm is one of this host. Those of efa and of other fabrics that are not over IP cannot be
 * tied to a connection: without `admit` all may be used.
 *
 * @param source of the connection, when the address came: {@link sourceOf}.
 * @throws FabricError FI_EMFILE if the process has no file descriptor to list the addresses of this host.
 */
export async function admitted(
  named: Named,
  source: string,
  connection: Origin,
  admit: Admit | undefined,
): Promise<boolean[]> {
  const { id, provider, format, addresses } = named;
  const places = placesOf(named);
  const known = addresses.map((_, i) => {
    if (places.length > 0) return isOf(source, places[i]);
    return format === 'FI_ADDR_STR' ? isHere(source) : admit === undefined;
  });
  if (admit === undefined || known.every(Boolean)) return known;
  const given = { id, provider, places: places.map((each) => each ?? 'malformed') };
  return (await admit(given, connection)) === true ? addresses.map(() => true) : known;
}

/** Why nothing that a stranger has named may be used. */
export function refusalOf(named: Named, source: string): string {
  const places = placesOf(named).slice(0, 4);
  const names = places.length > 0 ? `names ${places.join(', ')}` : 'was not admitted';
  return `the address ${names}, and came from ${source || 'an unknown host'}`;
}

/** What to do about it. */
export const ADMIT_HINT =
  'behind a proxy or with several hosts, give the option admit; between own engines, the same secret';
