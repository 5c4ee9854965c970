// libfabric/objects: the memory of all channels of a server, in a process of its own.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { root as repository } from '../support/documents.js';
import { ask, upgrade } from '../support/object-channels.js';
import { connectWithEngine, ending, MIB, TCP } from '../support/object-stores.js';
import { closed } from '../support/strangers.js';

test('channels that read nothing keep 256 MiB together, others get answers, and all of it is given back', async () => {
  const root = mkdtempSync(join(tmpdir(), 'objects-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 10 }));
  mkdirSync(join(root, 'b'));
  writeFileSync(join(root, 'b/long'), '');
  truncateSync(join(root, 'b/long'), 16 * MIB);
  const server = ending(fork(join(repository, 'test/objects/hostile-server.mjs'), [root]));
  const [url] = (await once(server, 'message')) as [string];
  const memory = async () => {
    server.send('');
    const [{ arrayBuffers, rss }] = (await once(server, 'message')) as [NodeJS.MemoryUsage];
    return { buffers: arrayBuffers / MIB, rss: rss / MIB };
  };
  const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length;
  const { client } = await connectWithEngine(url, TCP);
  await client.put('short', 'bytes');
  const before = await memory();
  const opened = descriptors();
  const hogs = await Promise.all(
    Array.from({ length: 40 }, () => upgrade(Number(new URL(url).port))),
  );
  for (const { socket } of hogs) {
    socket.pause();
    for (let id = 1; id <= 8; id++) ask(socket, id, '/b/long', { range: 'bytes=0-15999999' });
  }
  const kept = async () => (await memory()).buffers - before.buffers;
  await expect.poll(kept, { timeout: 60_000 }).toBeGreaterThan(200);
  for (let i = 0; i < 50; i++) {
    expect(Buffer.from((await client.get('short')).bytes).toString()).toBe('bytes');
    expect(await kept()).toBeLessThan(256 + 32);
  }
  for (const { socket } of hogs) {
    socket.destroy();
    await closed(socket);
  }
  await expect.poll(descriptors, { timeout: 60_000 }).toBeLessThan(opened + 4);
  const grown = async () => {
    await (await fetch(`${url}/b/long`)).arrayBuffer(); // an idle process collects its garbage minutes later
    return (await memory()).rss - before.rss;
  };
  await expect.poll(grown, { timeout: 120_000, interval: 500 }).toBeLessThan(64);
});
