// Object servers in the process of a test, and clients of them.
import './softefa.js';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createObjectServer,
  ObjectClient,
  type ObjectClientOptions,
  type ObjectServerOptions,
} from 'libfabric/objects';
import { TransferEngine } from 'libfabric/transfer';
import { onTestFinished } from 'vitest';

export const MIB = 2 ** 20;
export const TCP = { provider: 'tcp', node: '127.0.0.1' };

/** The options of an engine. Undefined: no engine. */
export type Fabric = { readonly provider: string; readonly node?: string } | undefined;

/** An engine, closed when the test ends. */
export async function openEngine(options: { provider: string; node?: string }) {
  const engine = await TransferEngine.open(options);
  onTestFinished(() => engine.close());
  return engine;
}

/** A server of a folder with the bucket `b`, and a way to open clients of it. */
export async function serve(fabric: Fabric, options: ObjectServerOptions = {}) {
  const root = mkdtempSync(join(tmpdir(), 'objects-'));
  const folder = join(root, 'b');
  mkdirSync(folder);
  onTestFinished(() => rmSync(root, { recursive: true }));
  const engine = fabric && (await openEngine(fabric));
  const server = await createObjectServer(root, {
    durable: false,
    ...(engine && { engine }),
    ...options,
  });
  onTestFinished(() => server.close());
  const url = await server.listen();
  const connect = async (more: ObjectClientOptions = {}) => {
    const own = fabric && (await openEngine(fabric));
    const client = new ObjectClient(`${url}/b`, { ...(own && { engine: own }), ...more });
    onTestFinished(() => client.close());
    return client;
  };
  return { root, folder, server, url, engine, connect };
}

/** A client and its engine. */
export async function connectWithEngine(url: string, fabric: NonNullable<Fabric>) {
  const engine = await openEngine(fabric);
  const client = new ObjectClient(`${url}/b`, { engine });
  onTestFinished(() => client.close());
  return { client, engine };
}

/** The files below a folder that this process has open. */
export const openIn = (folder: string) =>
  readdirSync('/proc/self/fd')
    .map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return ''; // closed since
      }
    })
    .filter((path) => path.startsWith(folder));

/** The files that are no objects yet. */
export const temporaryIn = (root: string) => readdirSync(join(root, '.libfabric/temporary'));

/** Ends a program when the test ends. */
export function ending<T extends ChildProcess>(child: T): T {
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}
