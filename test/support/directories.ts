// Directories of each kind, with what stands for an outage of the service.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server as HttpServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoredDirectory } from 'libfabric/directory';
import { onTestFinished } from 'vitest';
import { type Making, makeDirectory } from '../programs/directory-kinds.mjs';
import { freePort } from './free-port.js';

/** A service that the tests of one file share. */
export interface Service {
  /** The directory of another host: its number is from 1. */
  making(host: number): Making;
  /** Makes the service unreachable. */
  fail(): Promise<void>;
  restore(): Promise<void>;
  /** Writes records without the package, by their ids. Their leases are long. */
  write(group: string, records: Readonly<Record<string, string>>): Promise<void>;
  stop(): Promise<void>;
}

const newFolder = () => mkdtempSync(join(tmpdir(), 'libfabric-directory-'));

export async function folderService(): Promise<Service> {
  const parent = newFolder();
  const folder = join(parent, 'shared');
  mkdirSync(folder);
  return {
    making: () => ({ kind: 'folder', folder, interval: 100 }),
    fail: async () => renameSync(folder, `${folder}-away`),
    restore: async () => renameSync(`${folder}-away`, folder),
    write: async (group, records) => {
      mkdirSync(join(folder, group), { recursive: true });
      for (const [id, record] of Object.entries(records)) {
        writeFileSync(join(folder, group, id), record);
      }
    },
    stop: async () => rmSync(parent, { recursive: true }),
  };
}

/** Pods are addresses of the loopback device. A file has the records of the service. */
export async function kubernetesService(): Promise<Service> {
  const folder = newFolder();
  const records = join(folder, 'records');
  const hosts = Array.from({ length: 9 }, (_, i) => `127.0.0.${i + 1}`);
  const restore = async () => writeFileSync(records, JSON.stringify(hosts));
  await restore();
  const port = await freePort();
  const pods: HttpServer[] = [];
  // Each record is of a pod of its own: one that is too long hides the others of its pod.
  const write: Service['write'] = async (group, written) => {
    for (const record of Object.entries(written)) {
      const text = JSON.stringify(Object.fromEntries([record]));
      const pod = createServer((request, response) =>
        response.end(request.url?.endsWith(`/${group}`) ? text : '{}'),
      );
      const host = `127.0.0.${hosts.push('') + 10}`;
      hosts.splice(-1, 1, host);
      pods.push(pod);
      await once(pod.listen(port, host), 'listening');
    }
    await restore();
  };
  return {
    making: (host) => ({
      kind: 'kubernetes',
      records,
      port,
      host: `127.0.0.${host}`,
      interval: 100,
    }),
    fail: async () => rmSync(records),
    restore,
    write,
    stop: async () => {
      for (const pod of pods) pod.close().closeAllConnections();
      rmSync(folder, { recursive: true });
    },
  };
}

// Without what the tests preload, such as a sanitizer.
const { LD_PRELOAD: _preload, ...ENV } = process.env;

const isInstalled = (program: string) =>
  [...(process.env.PATH ?? '').split(':'), '/usr/sbin'].some((path) =>
    existsSync(join(path, program)),
  );

/** A program that listens on the loopback device, and keeps its data in a folder. */
class Server {
  readonly #command: readonly [string, ...string[]];
  readonly #ready: string;
  #child: ChildProcess | undefined;

  constructor(command: readonly [string, ...string[]], ready: string) {
    this.#command = command;
    this.#ready = ready;
  }

  async start(): Promise<void> {
    const [program, ...args] = this.#command;
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: ENV });
    this.#child = child;
    await new Promise<void>((resolve, reject) => {
      let output = '';
      const read = (text: Buffer) => {
        output += text;
        if (output.includes(this.#ready)) resolve();
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.once('exit', () => reject(new Error(`${program} has ended: ${output}`)));
    });
  }

  async kill(): Promise<void> {
    const child = this.#child as ChildProcess;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }
}

/**
 * @param loses whether etcd forgets its data when it fails.
 * @param tls the certificate and the key, in files.
 * @param args more arguments of etcd.
 */
export async function etcdService(
  loses = false,
  tls?: readonly [cert: string, key: string],
  args: readonly string[] = [],
): Promise<Service | undefined> {
  if (!isInstalled('etcd')) return undefined;
  const folder = newFolder();
  const [data, port, peers] = [join(folder, 'data'), await freePort(), await freePort()];
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${peers}`;
  const server = new Server(
    [
      'etcd',
      ...['--data-dir', data, '--listen-client-urls', url, '--advertise-client-urls', url],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--initial-cluster', `default=${peer}`],
      ...(tls ? ['--cert-file', tls[0], '--key-file', tls[1]] : []),
      ...args,
    ],
    'ready to serve client requests',
  );
  await server.start();
  return {
    making: () => ({ kind: 'etcd', endpoints: url, interval: 2000 }),
    fail: async () => {
      await server.kill();
      if (loses) rmSync(data, { recursive: true });
    },
    restore: () => server.start(),
    write: async (group, records) => {
      const { bytes, EtcdClient } = await import('../../dist/directory/etcd-client.js');
      const client = new EtcdClient({ endpoints: [new URL(url)], user: undefined, tls: undefined });
      const { ID: lease } = await client.call<{ ID: string }>('lease/grant', { TTL: 600 });
      for (const [id, record] of Object.entries(records)) {
        const key = bytes(`/libfabric/${group}/${id}`);
        await client.call('kv/put', { key, value: bytes(record), lease });
      }
      client.close();
    },
    stop: async () => {
      await server.kill();
      rmSync(folder, { recursive: true });
    },
  };
}

/** It keeps nothing when it fails. */
export async function redisService(): Promise<Service | undefined> {
  if (!isInstalled('redis-server')) return undefined;
  const folder = newFolder();
  const port = await freePort();
  const server = new Server(
    [
      'redis-server',
      ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder],
    ],
    'eady to accept connections',
  );
  await server.start();
  return {
    making: () => ({ kind: 'redis', url: `redis://127.0.0.1:${port}`, interval: 2000 }),
    fail: () => server.kill(),
    restore: () => server.start(),
    write: async (group, records) => {
      const { RedisClient } = await import('../../dist/directory/redis-client.js');
      const client = new RedisClient({ url: `redis://127.0.0.1:${port}` });
      const keys = ['leases', 'records'].map((what) => `libfabric:{${group}}:${what}`);
      const add = `redis.call('ZADD', KEYS[1], 9e12, ARGV[1]) redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])`;
      for (const entry of Object.entries(records)) await client.run(add, keys, entry);
      client.close();
    },
    stop: async () => {
      await server.kill();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A directory, closed when the test ends. */
export function open(making: Making): StoredDirectory {
  const directory = makeDirectory(making);
  onTestFinished(() => directory.close());
  return directory;
}

/** A process that has published an entry. It is killed when the test ends. */
export async function publisher(
  making: Making,
  group: string,
  id: string,
  ttl: number,
): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('../programs/directory-publisher.mjs', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(making), group, id, String(ttl)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: ENV,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => {
      throw new Error('the publisher has ended');
    }),
  ]);
  return child;
}
