// Servers of this machine that libraries reach through a relay. Each listens at a socket in a folder of its own.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whom a program runs as. Undefined: as this process. */
type Owner = { uid: number; gid: number } | undefined;

export interface Program {
  /** The path of its socket. */
  readonly path: string;
  stop(): Promise<void>;
}

// Without what the tests preload, such as a sanitizer.
const { LD_PRELOAD: _preload, ...ENV } = process.env;

const POSTGRES = '/usr/lib/postgresql'; // a folder for each version in Debian

function find(name: string): string | undefined {
  const versions = existsSync(POSTGRES) ? readdirSync(POSTGRES).toReversed() : [];
  const folders = [
    ...(process.env.PATH ?? '').split(':'),
    '/usr/sbin',
    ...versions.map((version) => join(POSTGRES, version, 'bin')),
  ];
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}

function newFolder(owner?: Owner): string {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-net-'));
  if (owner) chownSync(folder, owner.uid, owner.gid);
  return folder;
}

/** Starts a program, and waits until it prints that it is ready. */
async function start(
  [program, ...args]: [string, ...string[]],
  ready: string,
  folder: string,
  owner?: Owner,
): Promise<() => Promise<void>> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: ENV, ...owner });
  const exit = once(child, 'exit');
  await new Promise<void>((resolve, reject) => {
    let output = '';
    const read = (text: Buffer) => {
      output += text;
      if (output.includes(ready)) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    exit.then(() => reject(new Error(`${program} has ended: ${output}`)), reject);
  });
  return async () => {
    child.kill('SIGINT');
    await exit;
    rmSync(folder, { recursive: true });
  };
}

/** Undefined: this machine has none. */
export async function startRedis(): Promise<Program | undefined> {
  const program = find('redis-server');
  if (program === undefined) return undefined;
  const folder = newFolder();
  const path = join(folder, 'redis');
  const args = ['--port', '0', '--unixsocket', path, '--save', '', '--dir', folder];
  return { path, stop: await start([program, ...args], 'eady to accept connections', folder) };
}

/** Its users need no password. Undefined: this machine has none, or no user that may run it. */
export async function startPostgres(): Promise<Program | undefined> {
  const [initdb, program] = [find('initdb'), find('postgres')];
  const owner = ownerOfPostgres();
  if (!initdb || !program || owner === 'none') return undefined;
  const folder = newFolder(owner);
  const data = join(folder, 'data');
  execFileSync(
    initdb,
    ['-D', data, '--no-sync', '--auth=trust', '--username=tester', '--no-locale', '-E', 'UTF8'],
    { stdio: 'ignore', env: ENV, ...owner },
  );
  const args = ['-D', data, '-F', '-k', folder, '-c', 'listen_addresses='];
  const ready = 'ready to accept connections';
  return {
    path: join(folder, '.s.PGSQL.5432'),
    stop: await start([program, ...args], ready, folder, owner),
  };
}

/** PostgreSQL does not run as root. */
function ownerOfPostgres(): Owner | 'none' {
  if (process.getuid?.() !== 0) return undefined;
  const id = (option: string) =>
    Number(execFileSync('id', [option, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }));
  try {
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return 'none';
  }
}

/** Undefined: this machine has none. */
export async function startMosquitto(): Promise<Program | undefined> {
  const program = find('mosquitto');
  if (program === undefined) return undefined;
  const folder = newFolder();
  const [path, config] = [join(folder, 'mqtt'), join(folder, 'conf')];
  writeFileSync(config, `listener 0 ${path}\nallow_anonymous true\nuser root\n`);
  return { path, stop: await start([program, '-c', config], 'running', folder) };
}
