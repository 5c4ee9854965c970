import { lookup } from 'node:dns/promises';
import { isNameless } from './open-endpoint.js';
import type { Settings } from './settings.js';

/** The settings that decide whether the server's name must resolve, and to what. */
type Named = Pick<Settings, 'host' | 'provider' | 'addrFormat' | 'oobExchange' | 'oobAddress'>;

const resolveAll = (host: string, family: number) => lookup(host, { all: true, family });

/**
 * Resolves the name of a client's server. A server listens at IPv4 addresses unless its options say
 * otherwise, but `localhost` often resolves to ::1 first. So an IPv4 address is preferred.
 *
 * @throws Error if the name cannot be resolved.
 */
export async function resolveHost<T extends Named>(
  settings: T,
  resolve: typeof resolveAll = resolveAll,
): Promise<T & Pick<Settings, 'hostAddress'>> {
  const { host, provider, addrFormat, oobExchange, oobAddress } = settings;
  if (host === undefined || host.includes('://')) return settings;
  if (oobExchange ? oobAddress !== undefined : isNameless(provider)) return settings;
  const family = addrFormat === 'FI_SOCKADDR_IN6' ? 6 : 0;
  const addresses = await resolve(host, family).catch((cause) => {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`the host name ${host} cannot be resolved (${code})`, { cause });
  });
  const preferred = addresses.find((each) => each.family === 4) ?? addresses[0];
  return { ...settings, ...(preferred && { hostAddress: preferred.address }) };
}
