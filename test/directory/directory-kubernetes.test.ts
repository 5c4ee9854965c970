// The directory of the pods of a headless service, over addresses of the loopback device.
import { createServer } from 'node:http';
import { KubernetesDirectory } from 'libfabric/directory';
import { expect, onTestFinished, test } from 'vitest';
import { kubernetesService } from '../support/directories.js';
import { contract } from '../support/directory-contract.js';
import { freePort } from '../support/free-port.js';

contract('kubernetes', 800, kubernetesService);

test('a server of the program serves the entries beside its own pages', async () => {
  const port = await freePort();
  const resolve = async () => ['127.0.0.1'];
  const directory = new KubernetesDirectory({ service: 'engines', port, listen: false, resolve });
  onTestFinished(() => directory.close());
  const server = createServer((request, response) => {
    if (!directory.handle(request, response)) response.end('a page');
  });
  await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  await directory.publish('group', { id: 'a', address: 'b' });
  expect(await directory.lookup('group')).toEqual([{ id: 'a', address: 'b' }]);
  const url = `http://127.0.0.1:${port}`;
  expect(await (await fetch(`${url}/x`)).text()).toBe('a page');
  const entries = `${url}/libfabric/directory/group`;
  expect(await (await fetch(entries)).json()).toEqual({ a: { address: 'b', ttl: 10_000 } });
  expect((await fetch(entries, { method: 'POST' })).status).toBe(405);
});

test('pods that answer nonsense are ignored', async () => {
  const port = await freePort();
  const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'];
  const answers = ['{', '[1, null]', '{"../a":{"address":"x","ttl":9}, "b":{"ttl":1}, "c":7}'];
  for (const [i, answer] of answers.entries()) {
    const server = createServer((_, response) => response.end(answer));
    await new Promise<void>((listening) => server.listen(port, hosts[i], listening));
    onTestFinished(() => void server.close());
  }
  const resolve = async () => hosts;
  const host = '127.0.0.4';
  const directory = new KubernetesDirectory({ service: 'engines', port, host, resolve });
  onTestFinished(() => directory.close());
  await directory.publish('group', { id: 'a', address: 'b' });
  expect(await directory.lookup('group')).toEqual([{ id: 'a', address: 'b' }]);
});
