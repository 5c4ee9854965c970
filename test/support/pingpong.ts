// The programs of libfabric that its packages bring, on software devices.
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { type SoftefaOptions, softefaEnvironment } from 'libfabric/softefa';

/** The longest that the two sides may take; a side that waits for the other spins for ever. */
const DEADLINE_MS = 20_000;

/** Why these programs cannot be run here, if so. */
export const notInstalled = ['fi_info', 'fi_pingpong']
  .filter((program) => spawnSync(program, ['-h']).error !== undefined)
  .map((program) => `${program} is not installed (libfabric-bin, libfabric)`)
  .at(0);

/** How one side has ended. */
export interface Side {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A row of the table that both sides print. */
export interface Row {
  readonly bytes: number;
  readonly sent: string;
  /** '=' and a number where as many came back as were sent. */
  readonly acknowledged: string;
}

const environment = (options: SoftefaOptions, variables: NodeJS.ProcessEnv = {}) => ({
  ...process.env,
  ...softefaEnvironment({ memlock: 'unlimited', ...options }),
  ...variables,
});

export function fiInfo(options: SoftefaOptions, ...args: string[]): SpawnSyncReturns<string> {
  const env = environment(options);
  return spawnSync('fi_info', args, { env, encoding: 'utf8', timeout: DEADLINE_MS });
}

/** Runs fi_pingpong to its end: the server, and a client of it. */
export async function fiPingpong(
  args: readonly string[],
  devices: { readonly server: SoftefaOptions; readonly client: SoftefaOptions },
  variables: NodeJS.ProcessEnv,
): Promise<{ server: Side; client: Side }> {
  const port = await freePort();
  const server = start(['-B', `${port}`, ...args], environment(devices.server, variables));
  await Promise.race([server, listening(port)]);
  const address = ['-P', `${port}`, '127.0.0.1'];
  const client = start([...args, ...address], environment(devices.client, variables));
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

const UNITS = { k: 2 ** 10, m: 2 ** 20 };

// 1.5k is 1536.
function bytesOf(size: string): number {
  const unit = UNITS[size.slice(-1) as keyof typeof UNITS];
  return unit === undefined ? Number(size) : Number(size.slice(0, -1)) * unit;
}

async function start(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Side> {
  const child = spawn('fi_pingpong', args, {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: DEADLINE_MS,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [status, signal] = await once(child, 'close');
  return { status, signal, stdout, stderr };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

// The server says nothing when it is ready and takes one connection only: the kernel knows.
async function listening(port: number): Promise<void> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const line = new RegExp(`^ *\\d+: [0-9A-F]{8}:${hex} [0-9A-F]{8}:0000 0A `, 'm');
  const end = performance.now() + DEADLINE_MS;
  while (!line.test(readFileSync('/proc/net/tcp', 'latin1'))) {
    if (performance.now() > end) return;
    await new Promise(setImmediate);
  }
}
