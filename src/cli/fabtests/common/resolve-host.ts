import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { isNameless } from './open-endpoint.js';
import type { Settings } from './settings.js';

/** The settings that decide whether the server's name must resolve, and to what. */
type Named = Pick<
  Settings,
  'host' | 'provider' | 'addrFormat' | 'oobExchange' | 'oobAddress' | 'sourceAddress'
>;

const resolveAll = (host: string, family: number) => lookup(host, { all: true, family });

// The names of shm and efa, such as `fi_shm://1`, are not of hosts.
const isNameOfHost = (name: string | undefined): name is string => name?.includes('://') === false;

/**
 * Resolves the name of a client's server, and checks that of the local address. A server listens at
 * IPv4 addresses unless its options say otherwise, but `localhost` often resolves to ::1 first. So
 * an IPv4 address is preferred.
 *
 * @throws Error if a name cannot be resolved.
 */
export async function resolveHost<T extends Named>(
  settings: T,
  resolve: typeof resolveAll = resolveAll,
): Promise<T & Pick<Settings, 'hostAddress'>> {
  const { host, provider, addrFormat, oobExchange, oobAddress, sourceAddress } = settings;
  const addressesOf = (name: string, family: number) =>
    resolve(name, family).catch((cause) => {
      const { code } = cause as NodeJS.ErrnoException;
      throw new Error(`the host name ${name} cannot be resolved (${code})`, { cause });
    });
  if (isNameOfHost(sourceAddress) && !isNameless(provider)) await addressesOf(sourceAddress, 0);
  if (!isNameOfHost(host)) return settings;
  if (oobExchange ? oobAddress !== undefined : isNameless(provider)) return settings;
  const six = addrFormat === 'FI_SOCKADDR_IN6' || isIPv6(sourceAddress ?? '');
  const addresses = await addressesOf(host, six ? 6 : 0);
  const preferred = addresses.find((each) => each.family === 4) ?? addresses[0];
  return { ...settings, ...(preferred && { hostAddress: preferred.address }) };
}
