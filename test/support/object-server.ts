// Object servers of examples/object-server in the process of a test, and clients of them.
import './softefa.js';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TransferEngine } from 'libfabric/transfer';
import { onTestFinished } from 'vitest';
import { ObjectClient } from '../../examples/object-server/client.mjs';
import { objectServer } from '../../examples/object-server/server.mjs';

export const MIB = 2 ** 20;
export const TCP = { provider: 'tcp', node: '127.0.0.1' };

/** An engine, closed when the test ends. */
export async function openEngine(options: { provider: string; node?: string }) {
  const engine = await TransferEngine.open(options);
  onTestFinished(() => engine.close());
  return engine;
}

/** A server of an empty folder, and a way to open clients. */
export async function serve(options: { provider: string; node?: string } = TCP, buffers = 2) {
  const folder = mkdtempSync(join(tmpdir(), 'objects-'));
  const server = await objectServer(folder, await openEngine(options), { buffers });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${Object(server.address()).port}`;
  const connect = async () => ObjectClient.open(url, await openEngine(options));
  return { folder, url, connect };
}

/** The files of a folder that this process has open. */
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

/** Ends a program when the test ends. */
export function ending<T extends ChildProcess>(child: T): T {
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}
