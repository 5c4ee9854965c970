// examples/object-server: objects arrive whole, by the engine and in the HTTP body, from many clients at once.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { ending, MIB, openIn, serve, TCP } from '../support/object-server.js';
import { settle } from '../support/settle.js';

const example = (name: string) =>
  fileURLToPath(new URL(`../../examples/object-server/${name}`, import.meta.url));

const providers: readonly [string, { provider: string; node?: string }][] = [
  ['shm', { provider: 'shm' }],
  ['tcp', TCP],
  ['efa', { provider: 'efa' }],
];

describe.each(casesOf(providers, ([provider]) => provider === 'efa'))('%s', (_, options) => {
  test('objects go there and back, by the engine and in the body', async () => {
    const { folder, connect } = await serve(options);
    const client = await connect();
    for (const size of [0, 1, 100_000, 16 * MIB, 40 * MIB + 123]) {
      const bytes = pattern(size, size + 1);
      const memory = await client.engine.register(Buffer.concat([bytes, Buffer.from('x')]));
      const put = await client.put('by-body', bytes);
      expect(same(readFileSync(join(folder, 'by-body')), bytes)).toBe(true);
      expect((await client.head('by-body')).etag).toBe(put);

      if (size > 0) {
        const exact = await client.engine.register(bytes);
        await client.put('by-engine', exact);
        expect(same(readFileSync(join(folder, 'by-engine')), bytes)).toBe(true);
        await exact.close();
      }
      memory.bytes.fill(0);
      expect(same(await client.get('by-body', memory), bytes)).toBe(true);
      expect(memory.bytes[size]).toBe(0);
      expect(same(await client.get('by-body'), bytes)).toBe(true);

      const pieces = [];
      const small = await client.engine.allocate(2 * MIB);
      for await (const piece of client.pieces('by-body', small)) pieces.push(Buffer.from(piece));
      expect(same(Buffer.concat(pieces), bytes)).toBe(true);
      await Promise.all([memory.close(), small.close()]);
    }
    expect(openIn(folder)).toEqual([]);
  });
});

test('20 clients at once get their own objects through one buffer of the server', async () => {
  const { connect } = await serve(TCP, 1);
  const clients = await Promise.all(Array.from({ length: 20 }, connect));
  await Promise.all(
    clients.map(async (client, i) => {
      const memory = await client.engine.register(pattern(2 * MIB + i, i + 1));
      await client.put(`object-${i}`, memory);
    }),
  );
  await Promise.all(
    clients.map(async (client, i) => {
      const memory = await client.engine.allocate(3 * MIB);
      const wanted = (i + 7) % clients.length;
      const got = await client.get(`object-${wanted}`, memory);
      expect(same(got, pattern(2 * MIB + wanted, wanted + 1)), `client ${i}`).toBe(true);
    }),
  );
});

// By hand, with 1 GiB: SIZE=1073741824 npx vitest run test/documents/documents-object-server.test.ts -t programs
test('the programs stream a large file', async () => {
  const size = Number(process.env.SIZE ?? 128 * MIB);
  const { folder } = await serve();
  const file = createReadStream('/dev/urandom', { end: size - 1 });
  await writeFile(join(folder, 'source'), file);
  const hashOf = async (name: string) => {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(join(folder, name))) hash.update(chunk);
    return hash.digest('hex');
  };
  const start = (args: string[]) => {
    const all = [...args, '--provider', 'tcp', '--node', '127.0.0.1'];
    return ending(
      spawn(process.execPath, all, {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
  };
  const server = start([example('server.mjs'), folder, '--port', '0']);
  const [url] = (await settle(once(createInterface(server.stdout), 'line'))) as [string];
  const put = start([example('client.mjs'), 'put', url, 'stored', 'source']);
  expect(await settle(once(put, 'exit'))).toEqual([0, null]);
  const get = start([example('client.mjs'), 'get', url, 'stored', 'fetched']);
  expect(await settle(once(get, 'exit'))).toEqual([0, null]);
  expect(statSync(join(folder, 'fetched')).size).toBe(size);
  expect(await hashOf('fetched')).toBe(await hashOf('source'));
});
