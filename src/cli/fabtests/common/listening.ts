// Prints where a server listens, for the user who starts it or reads its log.
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { errnoByCode } from '../../../base/error-codes.js';
import { FabricError } from '../../../base/errors.js';
import { isQuiet } from '../../shared/quiet.js';
import type { TestEndpoint } from './open-endpoint.js';
import { DEFAULT_PORT, type Settings } from './settings.js';

/** The settings of a waiting server. */
export type Listening = Pick<
  Settings,
  | 'command'
  | 'clientArgv'
  | 'host'
  | 'provider'
  | 'oobExchange'
  | 'oobAddress'
  | 'sourceAddress'
  | 'sourcePort'
>;

/** The address of a server, and the options that its client needs. */
export interface ListeningAddress {
  /** Undefined for every address of this host. */
  readonly address: string | undefined;
  /** `'TCP port 3000'`. */
  readonly port: string;
  /** The client's options that name the server's port. */
  readonly options?: readonly string[];
}

// A server that serves several clients listens several times, and announces it once.
const announced = new WeakSet<readonly string[]>();

/** Prints where the server waits for the client's TCP connection, and the client's command. */
export function announcePort(settings: Listening, port: number): void {
  const { oobAddress, sourceAddress, sourcePort, oobExchange } = settings;
  const address = oobAddress ?? sourceAddress;
  // Both connect here only to synchronize. The client's first message goes to the endpoint.
  const options = oobExchange ? [] : portOptions(sourcePort);
  announceOnce(settings, { address, port: `TCP port ${port}`, options });
}

/** Prints where the server's endpoint waits for the client's first message, and its command. */
export function announceEndpoint(settings: Listening, ep: TestEndpoint): void {
  announceOnce(settings, placeOf(ep, settings));
}

function announceOnce(settings: Listening, place: ListeningAddress): void {
  const { host, clientArgv } = settings;
  if (host !== undefined || announced.has(clientArgv) || isQuiet()) return;
  announced.add(clientArgv);
  process.stderr.write(announcement(settings, place));
}

/** The text on stderr, which a terminal or a log shows. */
export function announcement(
  { command, clientArgv, provider }: Listening,
  { address, port, options = [] }: ListeningAddress,
  name = hostname(),
): string {
  const anywhere = address === undefined || address === '0.0.0.0' || address === '::';
  const place = anywhere ? `every address of ${name}` : address;
  const host = !anywhere ? address : provider === 'shm' ? 'localhost' : name;
  const line = [command, ...clientArgv, ...options, host].map(quoted).join(' ');
  return `Listening on ${place}, ${port}. The client's command:\n  npx libfabric ${line}\n`;
}

// The port is that of the endpoint, because the server's options may choose it in several ways.
function placeOf(ep: TestEndpoint, { sourceAddress, sourcePort }: Listening): ListeningAddress {
  const [provider] = (ep.info.fabricAttr.provName ?? '').split(';'); // 'tcp;ofi_rxm'
  const text = ep.av.straddr(ep.address); // 'fi_sockaddr_in://127.0.0.1:9228'
  const [, host, port] = /^fi_sockaddr_in6?:\/\/\[?(.*?)\]?:(\d+)$/.exec(text) ?? [];
  if (host !== undefined && isIP(host) !== 0) {
    return { address: host, port: `${provider} port ${port}`, options: portOptions(port) };
  }
  // shm has names instead of ports. The client needs a name of its own.
  const address = sourceAddress ?? text;
  const options = [...portOptions(sourcePort), '-s', `${address}-client`];
  return { address, port: `${provider} name ${text}`, options };
}

const portOptions = (port = DEFAULT_PORT) => (port === DEFAULT_PORT ? [] : ['-P', port]);

const quoted = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** The error of an endpoint that could not be opened. If its port is taken, it names the option. */
export function namingPort(settings: Settings, error: unknown): unknown {
  if (!FabricError.is(error) || error.errno !== errnoByCode.FI_EADDRINUSE) return error;
  const { host, sourcePort = DEFAULT_PORT } = settings;
  if (host !== undefined) return error;
  const hint = 'choose another port: -B PORT here, -P PORT at the client';
  return new FabricError(error.errno, error.syscall, { detail: `port ${sourcePort}`, hint });
}
