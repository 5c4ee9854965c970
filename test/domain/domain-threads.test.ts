import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { type DomainOptions, open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { exchangeMessage } from '../support/lifecycle.js';
import '../support/softefa.js';
import { PROVIDERS } from '../support/providers.js';
import { settle } from '../support/settle.js';
import { closing } from '../support/transfer.js';

const opened = async (provider: string, options: DomainOptions = {}) =>
  closing(await open({ provider, caps: ['FI_MSG'], ...options }));

const engineThreads = () =>
  readdirSync('/proc/self/task')
    .map((id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8'))
    .filter((name) => name === 'libfabric\n').length;

describe.each(PROVIDERS)('%s', (provider) => {
  test('domains with threadOf share a thread, in any order of opening and closing', async () => {
    const first = await opened(provider);
    const second = await opened(provider, { threadOf: first.domain });
    const third = await opened(provider, { threadOf: second.domain });
    expect(engineThreads()).toBe(1);
    await exchangeMessage(first, second);
    await exchangeMessage(second, third);
    await first.close();
    await exchangeMessage(third, second);
    const fourth = await opened(provider, { threadOf: third.domain });
    await exchangeMessage(fourth, second);
    expect(engineThreads()).toBe(1);
    await Promise.all([second.close(), third.close(), fourth.close()]);
    expect(engineThreads()).toBe(0);
  });

  test('each of many messages between domains of a thread arrives', async () => {
    const a = await opened(provider);
    const b = await opened(provider, { threadOf: a.domain });
    const peer = a.av.insert(b.address);
    const count = 2000;
    const seen: number[] = [];
    const receiving = (async () => {
      for await (const { bytes } of b.messages({ size: 64 })) {
        seen.push(new DataView(bytes.buffer, bytes.byteOffset).getUint32(0));
        if (seen.length === count) break;
      }
    })();
    const message = (i: number) => {
      const bytes = new Uint8Array(8);
      new DataView(bytes.buffer).setUint32(0, i);
      return bytes;
    };
    await settle(Promise.all(Array.from({ length: count }, (_, i) => a.send(message(i), peer))));
    await settle(receiving);
    expect(seen.sort((x, y) => x - y)).toEqual(Array.from({ length: count }, (_, i) => i));
  });
});

test('a worker that ends leaves no thread that drives several domains', async () => {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
    import('libfabric').then(async ({ open }) => {
      const first = await open({ provider: 'tcp', caps: ['FI_MSG'] });
      const second = await open({ provider: 'tcp', caps: ['FI_MSG'], threadOf: first.domain });
      globalThis.pending = [first, second].map((endpoint) => endpoint.recv(new Uint8Array(8)));
      parentPort.postMessage('open');
    });`,
    { eval: true },
  );
  await settle(once(worker, 'message'));
  await settle(worker.terminate());
  expect(engineThreads()).toBe(0);
});

test('threadOf is an open domain with a thread', async () => {
  const first = await opened('tcp');
  const manual = await opened('tcp', { driver: 'manual' });
  const refused = (options: DomainOptions) =>
    open({ provider: 'tcp', caps: ['FI_MSG'], ...options });
  await expect(refused({ threadOf: {} as never })).rejects.toMatchObject({
    code: 'ERR_INVALID_ARG_TYPE',
  });
  await expect(refused({ threadOf: first.domain, driver: 'loop' })).rejects.toMatchObject({
    code: 'ERR_INVALID_STATE',
  });
  await expect(refused({ threadOf: manual.domain })).rejects.toMatchObject({
    code: 'ERR_INVALID_STATE',
  });
  await first.close();
  await expect(refused({ threadOf: first.domain })).rejects.toMatchObject({ code: 'ERR_CLOSED' });
});
