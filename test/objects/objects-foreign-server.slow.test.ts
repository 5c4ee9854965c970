// libfabric/objects: ObjectClient with another server of S3, where it takes time.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { root } from '../support/documents.js';
import { foreignClient, foreignServer, OBJECT } from '../support/foreign-server.js';
import { ending, MIB } from '../support/object-stores.js';

const GB = 1e9;

test('stream() of more bytes than a buffer can have takes little memory', async () => {
  const chunk = Buffer.alloc(1e6);
  const url = await foreignServer((_request, response) => {
    response.writeHead(200, { ...OBJECT, 'content-length': 4.5 * GB });
    let left = 4500;
    const write = () => {
      while (left-- > 0) if (!response.write(chunk)) return void response.once('drain', write);
      response.end();
    };
    write();
  });
  const client = ending(fork(join(root, 'test/objects/streaming-client.mjs'), [url]));
  const [{ length, rss }] = await once(client, 'message');
  expect(length).toBe(4.5 * GB);
  expect(rss / MIB).toBeLessThan(512);
});

test.each([
  ['node:http', {}],
  ['fetch', { fetch }],
])('the timeout does not run while the program has a piece: %s', async (_way, options) => {
  const timeout = 1000;
  const client = await foreignClient(
    (_request, response) => response.writeHead(200, OBJECT).end(Buffer.alloc(32 * MIB)),
    { ...options, timeout },
  );
  let length = 0;
  for await (const piece of client.stream('a')) {
    if (length === 0) await sleep(3 * timeout);
    length += piece.length;
  }
  expect(length).toBe(32 * MIB);
});
