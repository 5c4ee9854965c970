// Opening and closing leaves no descriptor, thread, file of shared memory, or object of JavaScript.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FolderDirectory } from 'libfabric/directory';
import { createObjectServer, ObjectClient } from 'libfabric/objects';
import { TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test, vi } from 'vitest';
import { enginePair } from '../support/engines.js';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const KIB = 1024;
// The compiler of JavaScript and its feedback grow for thousands of calls.
const HEAP_EACH = 3 * KIB;
const FEW = 8; // threads of libuv, and connections that stay for a while

function counts() {
  gc();
  const status = readFileSync('/proc/self/status', 'utf8');
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    threads: Number(status.match(/Threads:\s*(\d+)/)?.[1]),
    shared: readdirSync('/dev/shm').filter((name) => name.includes(String(process.pid))).length,
  };
}

/** Measures `times` calls after a fifth of them. */
async function leavesNothing(times: number, once: () => Promise<unknown>): Promise<void> {
  await once();
  const first = counts();
  for (let i = 0; i < times / 5; i++) await once();
  gc();
  const heap = process.memoryUsage().heapUsed;
  for (let i = 0; i < times; i++) await once();
  // Timers of a second hold what was closed, and mappings that are not used stay for ten.
  await vi.waitFor(
    () => {
      const last = counts();
      expect(last.descriptors).toBeLessThanOrEqual(first.descriptors + FEW);
      expect(last.threads).toBeLessThanOrEqual(first.threads + FEW);
      expect(last.shared).toBeLessThanOrEqual(first.shared + FEW);
      expect((process.memoryUsage().heapUsed - heap) / times).toBeLessThan(HEAP_EACH);
    },
    { timeout: 40_000, interval: 100 },
  );
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-growth-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

const optionsOf = (provider: string) =>
  provider === 'tcp' ? { provider, node: '127.0.0.1' } : { provider };

test.each(['tcp', 'shm'])('%s: engines that meet', async (provider) => {
  const options = optionsOf(provider);
  await leavesNothing(100, async () => {
    const [a, b] = [await TransferEngine.open(options), await TransferEngine.open(options)];
    const remote = await a.peer(b.address);
    await b.peer(a.address);
    await remote.notify(Buffer.from('x'));
    await Promise.all([a.close(), b.close()]);
  });
});

test.each(['tcp', 'shm'])('%s: memory, offers, transfers and messages', async (provider) => {
  const { a, b, toB, toA } = await enginePair(optionsOf(provider));
  const messages = b.notifications();
  await leavesNothing(1000, async () => {
    const [memory, from] = [await b.allocate(4096), await a.register(new Uint8Array(4096))];
    const offer = await memory.offer({ access: 'write', to: toA });
    await Promise.all([toB.write(from, offer.token), offer.arrived]);
    await Promise.all([memory.close(), from.close(), toB.notify(Buffer.from('x'))]);
    await messages.next();
  });
});

test.each(['tcp', 'shm'])('%s: streams of each kind', async (provider) => {
  const { b, toB, toA } = await enginePair(optionsOf(provider));
  await leavesNothing(1000, async () => {
    const incoming = b.incoming({ from: toA });
    await Promise.all([buffer(incoming), toB.upload([Buffer.from('x')], incoming.token)]);
    const written = b.incoming({ from: toA });
    toB.writable(written.token).end('x');
    await buffer(written);
    const outgoing = b.outgoing({ to: toA });
    outgoing.end('x');
    await buffer(toB.download(outgoing.token));
    b.incoming({ from: toA })
      .on('error', () => {})
      .destroy();
  });
});

test.each(['tcp', 'shm'])('%s: object clients, and memberships', async (provider) => {
  const options = optionsOf(provider);
  const server = await createObjectServer(newFolder(), {
    engine: await TransferEngine.open(options),
  });
  onTestFinished(() => server.close());
  const engine = await TransferEngine.open(options);
  onTestFinished(() => engine.close());
  const url = await server.listen();
  await new ObjectClient(`${url}/bucket`).createBucket();
  const folder = newFolder();
  await leavesNothing(200, async () => {
    const client = new ObjectClient(`${url}/bucket`, { engine });
    await client.put('key', new Uint8Array(400_000));
    await client.close();
    const directory = new FolderDirectory(folder);
    await (await engine.join(directory, 'group')).leave();
    await directory.close();
  });
});
