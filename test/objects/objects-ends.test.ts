// libfabric/objects: a client that ends in the middle of a request leaves nothing on the server. Kills
// are over tcp: shm has no such promise (docs/provider-limits.md, "Peers that are killed").
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { same } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { HANG_MS } from '../support/limits.js';
import {
  connectWithEngine,
  ending,
  type Fabric,
  MIB,
  openIn,
  serve,
  TCP,
  temporaryIn,
} from '../support/object-stores.js';
import { settle } from '../support/settle.js';

describe('a client that ends in the middle leaves the memory, the file and the folder free', () => {
  const size = 128 * MIB;

  /** A server with one buffer, which another client can use afterwards. */
  async function prepared(fabric: NonNullable<Fabric> = TCP) {
    const { root, folder, url } = await serve(fabric, { buffers: 1 });
    const other = await connectWithEngine(url, fabric);
    const large = Buffer.alloc(size, 1);
    await writeFile(join(folder, 'large'), large);
    const expectFree = async () => {
      const into = await other.engine.allocate(size);
      const { bytes } = await settle(other.client.get('large', { into }));
      expect(same(bytes, large)).toBe(true);
      await vi.waitFor(() => expect(openIn(folder)).toEqual([]), { timeout: HANG_MS });
      expect([readdirSync(folder), temporaryIn(root)]).toEqual([['large'], []]);
    };
    const temporary = join(root, '.libfabric/temporary');
    return { temporary, url, expectFree, connect: () => connectWithEngine(url, fabric) };
  }

  const hasPart = (folder: string) =>
    vi.waitFor(
      () => {
        const [part] = readdirSync(folder);
        expect(part && statSync(join(folder, part)).size).toBeGreaterThan(0);
      },
      { timeout: HANG_MS, interval: 1 },
    );

  test.for(casesOf(['get', 'put'], (command) => command === 'get'))(
    'killed in a %s',
    async (command) => {
      const { temporary, url, expectFree } = await prepared();
      const client = ending(
        fork(fileURLToPath(new URL('object-client.mjs', import.meta.url)), [url, command]),
      );
      const messages: unknown[] = [];
      client.on('message', (message) => messages.push(message));
      if (command === 'put') await hasPart(temporary);
      else expect(await settle(once(client, 'message'))).toEqual(['some', undefined]);
      client.kill('SIGKILL');
      expect(await settle(once(client, 'exit'))).toEqual([null, 'SIGKILL']);
      expect(messages).not.toContain('all');
      await expectFree();
    },
  );

  const aborted = [
    ['get', 'shm', { provider: 'shm' }],
    ['put', 'shm', { provider: 'shm' }],
    ['get', 'tcp', TCP],
    ['put', 'tcp', TCP],
    ['get', 'efa', { provider: 'efa' }],
    ['put', 'efa', { provider: 'efa' }],
  ] as const;
  const isQuick = ([command, provider]: readonly [string, string, object]) =>
    command === 'put' && provider === 'efa';

  test.for(casesOf(aborted, isQuick))('aborted in a %s over %s', async ([command, _, options]) => {
    const { temporary, connect, expectFree } = await prepared(options);
    const { client, engine } = await connect();
    const memory = await engine.allocate(size);
    const controller = new AbortController();
    const { signal } = controller;
    const asked =
      command === 'get'
        ? client.get('large', { into: memory, signal })
        : client.put('killed', memory, { signal });
    const failed = expect(asked).rejects.toThrow('abort');
    if (command === 'put') await hasPart(temporary);
    else
      await vi.waitFor(() => expect(memory.bytes[20 * MIB]).toBe(1), {
        timeout: HANG_MS,
        interval: 1,
      });
    controller.abort();
    await settle(failed);
    await settle(memory.close());
    await expectFree();
  });
});
