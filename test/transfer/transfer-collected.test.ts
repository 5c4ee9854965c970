// What was closed is collected, although the objects that it used stay open.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FolderDirectory } from 'libfabric/directory';
import { createObjectServer, ObjectClient } from 'libfabric/objects';
import { TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { enginePair } from '../support/engines.js';
import { warningsFromNow } from '../support/warnings.js';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const OPTIONS = { provider: 'tcp', node: '127.0.0.1' };
const COUNT = 3;
const LIMIT = 20_000; // ms: timers of a second may hold what was closed

/** Calls `once` some times, which closes what it returns. All of that is collected, except the last, which a frame may hold. */
async function collects(once: () => Promise<readonly object[]>): Promise<void> {
  const refs: WeakRef<object>[] = [];
  for (let i = 0; i < COUNT; i++) refs.push(...(await once()).map((one) => new WeakRef(one)));
  await once();
  const left = () => refs.filter((ref) => ref.deref() !== undefined).length;
  for (const end = performance.now() + LIMIT; left() > 0 && performance.now() < end; ) {
    await delay(20); // a WeakRef that was made or read keeps its object until the next turn
    gc();
  }
  expect(left()).toBe(0);
}

const pair = () => enginePair(OPTIONS);

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'libfabric-collected-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('engines', async () => {
  await collects(async () => {
    const [a, b] = [await TransferEngine.open(OPTIONS), await TransferEngine.open(OPTIONS)];
    const remote = await a.peer(b.address);
    await b.peer(a.address);
    await remote.notify(Buffer.from('x'));
    await Promise.all([a.close(), b.close()]);
    return [a, b, remote];
  });
});

test('memory, offers and transfers', async () => {
  const { a, b, toB, toA } = await pair();
  await collects(async () => {
    const [memory, from] = [await b.allocate(4096), await a.register(new Uint8Array(4096))];
    const offer = await memory.offer({ access: 'write', to: toA });
    const transfer = toB.write(from, offer.token);
    await Promise.all([transfer, offer.arrived]);
    const unused = await memory.offer({ access: 'read', to: toA });
    await unused.close();
    await Promise.all([memory.close(), from.close()]);
    return [memory, from, offer, transfer, unused];
  });
});

test('pools and their leases', async () => {
  const { a } = await pair();
  await collects(async () => {
    const pool = a.pool({ size: 4096, count: 2 });
    const lease = await pool.acquire();
    lease.release();
    await pool.close();
    return [pool, lease];
  });
});

test('streams, also those that were not used', async () => {
  const { b, toB, toA } = await pair();
  await collects(async () => {
    const incoming = b.incoming({ from: toA });
    const outgoing = b.outgoing({ to: toA });
    const writable = toB.writable(incoming.token);
    writable.end('x');
    outgoing.end('y');
    const download = toB.download(outgoing.token);
    await Promise.all([buffer(incoming), buffer(download)]);
    const unused = [b.incoming({ from: toA }), b.outgoing({ to: toA })];
    for (const stream of unused) stream.on('error', () => {}).destroy();
    return [incoming, outgoing, writable, download, ...unused];
  });
});

test('peers that were closed, and engines that were peers', async () => {
  const a = await TransferEngine.open(OPTIONS);
  onTestFinished(() => a.close());
  await collects(async () => {
    const b = await TransferEngine.open(OPTIONS);
    const remote = await a.peer(b.address);
    await b.peer(a.address);
    await remote.notify(Buffer.from('x'));
    await remote.close(); // it never learns that the peer's engine closes
    await b.close();
    return [b, remote];
  });
});

test('directories and memberships', async () => {
  const folder = newFolder();
  const { a } = await pair();
  await collects(async () => {
    const directory = new FolderDirectory(folder);
    const membership = await a.join(directory, 'group');
    await membership.leave();
    await directory.close();
    return [directory, membership];
  });
});

test('object clients whose engine stays open', async () => {
  const server = await createObjectServer(newFolder(), {
    engine: await TransferEngine.open(OPTIONS),
  });
  onTestFinished(() => server.close());
  const url = await server.listen();
  const engine = await TransferEngine.open(OPTIONS);
  onTestFinished(() => engine.close());
  await new ObjectClient(`${url}/bucket`).createBucket();
  await collects(async () => {
    const own: typeof fetch = (...args) => fetch(...args); // whatever is left of the client holds it
    const client = new ObjectClient(`${url}/bucket`, { engine, fetch: own });
    await client.put('key', new Uint8Array(400_000));
    await client.close();
    return [client, own];
  });
});

test('object servers and their engines', async () => {
  await collects(async () => {
    const engine = await TransferEngine.open(OPTIONS);
    const server = await createObjectServer(newFolder(), { engine });
    const client = new ObjectClient(`${await server.listen()}/bucket`);
    await client.createBucket();
    await client.close();
    await server.close();
    await engine.close();
    return [engine, server, client];
  });
});

test('memory that is given back, or is there, while its engine closes stays until the rails have closed', async () => {
  const warnings = warningsFromNow();
  for (let i = 0; i < 5; i++) {
    const { a, b, toA } = await pair();
    const pool = a.pool({ size: 4096, count: 2 });
    const leases = [await pool.acquire(), await pool.acquire()];
    // An offer that the other engine has not released makes the end take time.
    const offer = await (await b.allocate(4096)).offer({ access: 'write', to: toA });
    offer.arrived.catch(() => {});
    const allocating = [a.allocate(2 ** 20), a.pool({ size: 2 ** 20, count: 1 }).acquire()];
    let isClosed = false;
    const closing = a.close().then(() => {
      isClosed = true;
    });
    leases.length = 0;
    while (!isClosed) {
      gc();
      await turn();
    }
    await closing;
    for (const each of await Promise.allSettled(allocating)) expect(each.status).toBe('rejected');
    await delay(0);
  }
  expect(warnings).toEqual([]);
});
