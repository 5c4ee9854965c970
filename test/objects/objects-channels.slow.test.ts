// libfabric/objects: the limits of channels.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createObjectServer } from 'libfabric/objects';
import { expect, onTestFinished, test } from 'vitest';
import { serve } from '../support/object-stores.js';
import { closed, stranger } from '../support/strangers.js';

const UPGRADE = Buffer.from(
  'OPTIONS / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: libfabric-objects\r\n\r\n',
);

/** A server of the program, which has no limit of its own. */
async function serveOnAnother(): Promise<number> {
  const { root } = await serve(undefined);
  const http = createServer();
  await once(http.listen(0, '127.0.0.1'), 'listening');
  const server = await createObjectServer(root, { server: http });
  onTestFinished(async () => {
    await server.close();
    http.closeAllConnections();
    http.close();
  });
  return (http.address() as AddressInfo).port;
}

test('a channel without a message, and one within a message, end after 30 seconds of silence', async () => {
  const port = await serveOnAnother();
  const silent = await stranger(port, UPGRADE);
  const partial = await stranger(port, Buffer.concat([UPGRADE, Buffer.from('10000000aa', 'hex')]));
  const from = performance.now();
  await Promise.all([closed(silent), closed(partial)]);
  expect(performance.now() - from).toBeGreaterThan(29_000);
});

test('a server has 1000 channels, and answers further clients without one', async () => {
  const port = await serveOnAnother();
  const answers = await Promise.all(
    Array.from({ length: 1001 }, async () => {
      const socket = await stranger(port, UPGRADE);
      return String((await once(socket, 'data'))[0]).slice(9, 12);
    }),
  );
  expect(answers.filter((status) => status === '101')).toHaveLength(1000);
});
