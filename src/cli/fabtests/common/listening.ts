// Where a server listens, told to the person who starts it in a terminal.
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { errnoByCode } from '../../../error-codes.js';
import { FabricError } from '../../../errors.js';
import type { TestEndpoint } from './open-endpoint.js';
import { DEFAULT_PORT, type Settings } from './settings.js';

/** The settings of a waiting server. */
export type Listening = Pick<
  Settings,
  'command' | 'argv' | 'host' | 'provider' | 'oobAddress' | 'sourceAddress'
>;

let announced = false;

/** Tells where the server waits for the client's TCP connection, and the client's command. */
export function announcePort(settings: Listening, port: number): void {
  announceOnce(settings, settings.oobAddress ?? settings.sourceAddress, `TCP port ${port}`);
}

/** Tells where the server's endpoint waits for the client's first message, and its command. */
export function announceEndpoint(settings: Listening, ep: TestEndpoint): void {
  const { address, port } = addressOf(ep);
  const [provider] = (ep.info.fabricAttr.provName ?? '').split(';'); // 'tcp;ofi_rxm'
  announceOnce(settings, address, `${provider} port ${port}`);
}

// A server that serves several clients listens several times.
function announceOnce(settings: Listening, address: string | undefined, port: string): void {
  if (announced || settings.host !== undefined || process.stderr.isTTY !== true) return;
  announced = true;
  process.stderr.write(announcement(settings, address, port));
}

/** The text for the terminal. `address` is undefined for every address of this host. */
export function announcement(
  settings: Listening,
  address: string | undefined,
  port: string,
  name = hostname(),
): string {
  const place = isAny(address) ? `every address of ${name}` : address;
  const host = settings.provider === 'shm' ? 'localhost' : isAny(address) ? name : address;
  const words = [settings.command, ...clientArguments(settings.argv), host ?? name];
  const command = words.map(quoted).join(' ');
  return `Listening on ${place}, ${port}. The client's command:\n  npx libfabric ${command}\n`;
}

const isAny = (address: string | undefined) =>
  address === undefined || address === '0.0.0.0' || address === '::';

// 'fi_sockaddr_in://127.0.0.1:9228', or another form for other providers.
function addressOf(ep: TestEndpoint): { address: string; port: string } {
  const text = ep.av.straddr(ep.address);
  const [, host = text, port = ''] = /^fi_sockaddr_in6?:\/\/\[?(.*?)\]?:(\d+)$/.exec(text) ?? [];
  return { address: isIP(host) === 0 ? text : host, port };
}

/** The server's options that the client does without, or has by another name. */
const OTHERWISE: readonly { readonly names: readonly string[]; readonly client?: string }[] = [
  { names: ['-s', '--source'] },
  { names: ['--pin-core'] },
  { names: ['-B', '--source-port'], client: '-P' },
];

/** The client's options for those of its server. */
export function clientArguments(argv: readonly string[]): string[] {
  const args: string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] as string;
    const option = OTHERWISE.find(({ names }) => names.some((name) => isOption(word, name)));
    if (option === undefined) {
      args.push(word);
      continue;
    }
    const name = option.names.find((each) => isOption(word, each)) as string;
    const value = word === name ? argv[++i] : word.slice(name.length).replace(/^=/, '');
    if (option.client !== undefined) args.push(option.client, value ?? '');
  }
  return args;
}

// `-s ADDRESS`, `-sADDRESS`, `--source ADDRESS` or `--source=ADDRESS`.
const isOption = (word: string, name: string) =>
  word === name || word.startsWith(name.startsWith('--') ? `${name}=` : name);

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
