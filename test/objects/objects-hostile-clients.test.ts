// libfabric/objects: the memory of a server under hostile clients of each kind, and honest clients meanwhile. Both fuzzers of
// objects, for a moment.
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { root as repository } from '../support/documents.js';
import { connectWithEngine, ending, MIB, TCP } from '../support/object-stores.js';

const program = (name: string) => join(repository, 'test/objects', name);

/** What docs/objects.md says that a server keeps, in MiB, for this many hostile clients. */
const limitOf = (clients: number) => 32 + 256 + 64 + 1.5 * clients;

test.each(casesOf([20, 200], (count) => count === 20))(
  'with %i hostile clients, a server stays within its limit, answers others, and gives the memory back',
  async (count) => {
    const root = mkdtempSync(join(tmpdir(), 'objects-'));
    mkdirSync(join(root, 'b'));
    onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 10 }));
    writeFileSync(join(root, 'b/short'), Buffer.alloc(256 * 1024));
    writeFileSync(join(root, 'b/long'), Buffer.alloc(MIB));
    const server = ending(
      fork(program('hostile-server.mjs'), [root], { execArgv: ['--expose-gc'] }),
    );
    const [url] = (await once(server, 'message')) as [string];
    const rss = () => {
      const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
    };
    const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length;
    const buffers = async () => {
      server.send('');
      const [{ arrayBuffers }] = (await once(server, 'message')) as [{ arrayBuffers: number }];
      return arrayBuffers / MIB;
    };
    const { client } = await connectWithEngine(url, TCP);
    const round = async () => {
      await client.put('own', 'bytes');
      expect(Buffer.from((await client.get('own')).bytes).toString()).toBe('bytes');
      expect((await client.get('long')).size).toBe(MIB);
      expect(await Readable.from(client.list({ prefix: 'own' })).toArray()).toHaveLength(1);
    };
    await round();
    const before = rss();
    const opened = descriptors();
    const clients = ending(fork(program('hostile-clients.mjs'), [url, String(count)]));
    await once(clients, 'message');
    for (let i = 0; i < (count > 20 ? 30 : 5); i++) {
      const from = performance.now();
      await round();
      expect(performance.now() - from).toBeLessThan(20_000);
      expect(rss() - before).toBeLessThan(limitOf(count));
    }
    clients.kill('SIGKILL');
    await expect.poll(buffers, { timeout: 60_000 }).toBeLessThan(64);
    await round();
    if (count === 20) return;
    // Those of engines that were forged are given back after `keep`.
    await expect.poll(descriptors, { timeout: 60_000 }).toBeLessThan(opened + 16);
    const left = async () => {
      // An idle process collects its garbage minutes later, a busy one soon.
      for (let i = 0; i < 16; i++) await (await fetch(`${url}/b/long`)).arrayBuffer();
      return rss() - before;
    };
    await expect.poll(left, { timeout: 60_000, interval: 500 }).toBeLessThan(64);
  },
);

test.each(['objects-heads', 'objects-channel'])(
  '%s finds nothing in 2000 executions',
  async (name) => {
    const args = [join(repository, `test/fuzz/${name}.mjs`), '--runs', '2000'];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toContain(`${name}: 2,000 executions`);
  },
);
