// Runs libfabric's own programs fi_info and fi_pingpong on software devices.
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import './softefa.js'; // before version() loads libfabric
import { version } from 'libfabric';
import { type SoftefaOptions, softefaEnvironment } from 'libfabric/softefa';
import { freePort } from './free-port.js';
import { HANG_MS } from './limits.js';
import { type Ended, outputOf } from './output.js';

/** The reason if these programs cannot run here. */
export const notInstalled = ['fi_info', 'fi_pingpong']
  .filter((program) => spawnSync(program, ['-h']).error !== undefined)
  .map((program) => `${program} is not installed (libfabric-bin, libfabric)`)
  .at(0);

/**
 * The reason if fi_pingpong cannot run over RDM endpoints here. It reserves room for a prefix before each message, and
 * efa since 2.5 sends that room with the message.
 */
export const sendsPrefix =
  version().major > 2 || (version().major === 2 && version().minor >= 5)
    ? 'efa from libfabric 2.5 on sends the prefix of FI_MSG_PREFIX as data'
    : undefined;

/** The exit status and output of the server or client. */
export interface Side extends Omit<Ended, 'code'> {
  readonly status: number | null;
}

/** A row of the table that the server and the client print. */
export interface Row {
  readonly bytes: number;
  readonly sent: string;
  /** '=' and a number if the peer received as many as were sent. */
  readonly acknowledged: string;
}

const environment = (options: SoftefaOptions, variables: NodeJS.ProcessEnv = {}) => ({
  ...process.env,
  ...softefaEnvironment({ memlock: 'unlimited', ...options }),
  ...variables,
});

export function fiInfo(options: SoftefaOptions, ...args: string[]): SpawnSyncReturns<string> {
  return fiInfoUnder([], options, ...args);
}

/** Runs fi_info through a launcher. */
export function fiInfoUnder(
  launcher: readonly string[],
  options: SoftefaOptions,
  ...args: string[]
): SpawnSyncReturns<string> {
  const env = environment(options);
  const [program, ...rest] = [...launcher, 'fi_info', ...args] as [string, ...string[]];
  return spawnSync(program, rest, { env, encoding: 'utf8', timeout: HANG_MS });
}

// libfabric 2 lists efa-direct first. Its messages are no longer than a packet.
const FABRIC = version().major < 2 ? [] : ['-f', 'efa'];

/** Runs the server and the client of fi_pingpong to their ends. `launcher` is a command that runs both. */
export async function fiPingpong(
  args: readonly string[],
  devices: { readonly server: SoftefaOptions; readonly client: SoftefaOptions },
  variables: NodeJS.ProcessEnv,
  launcher: readonly string[] = [],
): Promise<{ server: Side; client: Side }> {
  const port = await freePort();
  const command = [...launcher, 'fi_pingpong', ...args];
  const server = start(
    [...command, ...FABRIC, '-B', `${port}`],
    environment(devices.server, variables),
  );
  await Promise.race([server, listening(port)]);
  const address = ['-P', `${port}`, '127.0.0.1'];
  const client = start([...command, ...FABRIC, ...address], environment(devices.client, variables));
  const [ofServer, ofClient] = await Promise.all([server, client]);
  return { server: ofServer, client: ofClient };
}

export function rowsOf({ stdout }: Side): Row[] {
  const [, ...lines] = stdout.trimEnd().split('\n'); // the first one names the columns
  return lines.map((line) => {
    const [size = '', sent = '', acknowledged = ''] = line.split(/\s+/);
    return { bytes: bytesOf(size), sent, acknowledged };
  });
}

/** Returns the sizes of -S all: powers of two, and 1.5 times each. */
export function sizesUpTo(largest: number): number[] {
  const sizes = [0, 1];
  for (let power = 2; power <= largest; power *= 2) sizes.push(power, power * 1.5);
  return sizes.filter((size) => size <= largest);
}

const UNITS = { k: 2 ** 10, m: 2 ** 20 };

// 1.5k is 1536.
function bytesOf(size: string): number {
  const unit = UNITS[size.slice(-1) as keyof typeof UNITS];
  return unit === undefined ? Number(size) : Number(size.slice(0, -1)) * unit;
}

async function start(command: readonly string[], env: NodeJS.ProcessEnv): Promise<Side> {
  const [program, ...args] = command as [string, ...string[]];
  const child = spawn(program, args, {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: HANG_MS,
    killSignal: 'SIGKILL',
  });
  const { code: status, ...ended } = await outputOf(child);
  return { status, ...ended };
}

// The server does not report that it is ready, and accepts only one connection. So read the state of the port
// from /proc.
async function listening(port: number): Promise<void> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const line = new RegExp(`^ *\\d+: [0-9A-F]{8}:${hex} [0-9A-F]{8}:0000 0A `, 'm');
  const end = performance.now() + HANG_MS;
  while (!line.test(readFileSync('/proc/net/tcp', 'latin1'))) {
    if (performance.now() > end) return;
    await new Promise(setImmediate);
  }
}
