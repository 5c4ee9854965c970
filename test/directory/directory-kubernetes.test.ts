// The directory of the pods of a headless service, over addresses of the loopback device.
import { createServer } from 'node:http';
import { KubernetesDirectory } from 'libfabric/directory';
import { expect, onTestFinished, test } from 'vitest';
import { kubernetesService } from '../support/directories.js';
import { contract } from '../support/directory-contract.js';
import { freePort } from '../support/free-port.js';
import { warningsFromNow } from '../support/warnings.js';

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

/** Pods at 127.0.0.1 and on, each with an answer that may change. */
async function pods(answers: (string | undefined)[]) {
  const port = await freePort();
  const hosts = answers.map((_, i) => `127.0.0.${i + 1}`);
  for (const [i, host] of hosts.entries()) {
    const server = createServer((_, response) => {
      if (answers[i] === undefined) response.writeHead(500);
      response.end(answers[i]);
    });
    await new Promise<void>((listening) => server.listen(port, host, listening));
    onTestFinished(() => void server.close());
  }
  const resolve = async () => hosts;
  const directory = new KubernetesDirectory({ service: 'engines', port, listen: false, resolve });
  onTestFinished(() => directory.close());
  return { directory, answers, hosts };
}

test('a pod keeps its ids from another pod that claims them, until it takes them back or does not answer', async () => {
  const warnings = warningsFromNow();
  const says = (address: string, ttl = 60_000) => JSON.stringify({ a: { address, ttl } });
  const { directory, answers } = await pods(['{}', says('own', 200)]);
  const addresses = async () => (await directory.lookup('stolen')).map(({ address }) => address);
  expect(await addresses()).toEqual(['own']);
  answers[0] = says('thief');
  for (let i = 0; i < 3; i++) expect(await addresses()).toEqual(['own']);
  await new Promise(setImmediate);
  expect(warnings).toEqual([
    expect.stringMatching(
      /the pod 127.0.0.1 has the id of an entry of 127.0.0.2 in stolen, which is ignored: "a"/,
    ),
  ]);
  answers[1] = undefined; // its lease lives, but it does not answer
  expect(await addresses()).toEqual(['thief']);
  answers[1] = says('own');
  expect(await addresses()).toEqual(['thief']);
  answers[0] = '{}';
  expect(await addresses()).toEqual(['own']);
  answers[0] = says('own'); // another address of the same pod
  expect(await addresses()).toEqual(['own']);
  await new Promise(setImmediate);
  expect(warnings.length).toBe(2);
});

test('names of pods that are no hosts are ignored', async () => {
  const { directory, hosts } = await pods(['{"a":{"address":"b","ttl":1000}}']);
  hosts.push('not a host', '', '[', '::1::');
  expect(await directory.lookup('group')).toEqual([{ id: 'a', address: 'b' }]);
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
