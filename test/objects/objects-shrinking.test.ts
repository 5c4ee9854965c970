// The file of an object becomes shorter while it is sent: the client gets an error at once, with a code.
import { writeFileSync } from 'node:fs';
import { truncate } from 'node:fs/promises';
import { get } from 'node:http';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MIB, serve } from '../support/object-stores.js';

const SIZE = 64 * MIB;

test('a GET over HTTP is cut, and its client sees that', async () => {
  const { folder, url } = await serve(undefined);
  const path = join(folder, 'object');
  writeFileSync(path, Buffer.alloc(SIZE));
  const code = await new Promise((resolve) => {
    get(`${url}/b/object`, (response) => {
      response.once('data', async () => {
        response.pause();
        await truncate(path, MIB);
        response.resume();
      });
      response.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      response.on('end', () => resolve('end'));
    });
  });
  expect(code).toBe('ECONNRESET');
});

test.each([undefined, { provider: 'shm' }])('get(), fabric: %o', async (fabric) => {
  const { folder, connect } = await serve(fabric);
  const path = join(folder, 'object');
  writeFileSync(path, Buffer.alloc(SIZE));
  const client = await connect();
  const stream = client.stream('object');
  await stream.next();
  await truncate(path, MIB);
  const rest = (async () => {
    for await (const _ of stream);
  })();
  await expect(rest).rejects.toMatchObject({
    code: expect.stringMatching(/^(PreconditionFailed|OperationAborted|ECONNRESET)$/),
  });
  // The connection of the client goes on.
  writeFileSync(path, 'other');
  expect(String((await client.get('object')).bytes)).toBe('other');
});
