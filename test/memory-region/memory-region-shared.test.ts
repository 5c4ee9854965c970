import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { processCombinations } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';
import { PROVIDERS } from '../support/providers.js';
import { settle } from '../support/settle.js';

const PAGE = 4096;

describe.each(PROVIDERS)('%s', (provider) => {
  test.each([false, true])(
    'allocate({ shared: true, hugePages: %s }) returns aligned memory that workers can share',
    async (hugePages) => {
      const ep = await open({ provider, caps: ['FI_MSG', 'FI_RMA'] });
      const self = ep.av.insert(ep.address);
      const rights = ['FI_SEND', 'FI_RECV', 'FI_REMOTE_READ'] as const;
      const region = await ep.domain.allocate(8192, rights, { shared: true, hugePages });
      expect(region.buffer).toBeInstanceOf(SharedArrayBuffer);
      expect(region.bytes.length).toBe(8192);
      if (region.address !== 0n) expect(region.address % BigInt(PAGE)).toBe(0n);
      const source = `
        const { parentPort } = require('node:worker_threads');
        parentPort.once('message', (bytes) => {
          bytes.fill(6, 0, 4096);
          parentPort.postMessage('filled');
          Atomics.wait(new Int32Array(bytes.buffer), 1024, 0);
          parentPort.postMessage(bytes[4100]);
        });`;
      const worker = new Worker(source, { eval: true });
      worker.postMessage(region.bytes);
      await once(worker, 'message');
      const seen = once(worker, 'message');
      const received = ep.recv(region.slice(4096));
      await ep.send(region.slice(0, 4096), self);
      expect((await received).length).toBe(4096);
      Atomics.notify(new Int32Array(region.buffer as SharedArrayBuffer), 1024);
      expect((await seen)[0]).toBe(6);
      await region.close();
      await ep.close();
      expect(region.buffer.byteLength).toBe(8192);
      await worker.terminate();
    },
  );
});

test.for(processCombinations)(
  'a region that is collected without close() warns, and its memory stays: $provider, $driver driver',
  async ({ provider, driver }) => {
    const warning = /LibfabricWarning: A MemoryRegion was garbage collected before close\(\)/;
    const expected = { stdout: 'LibfabricWarning\ntrue', stderr: warning };
    await runCleanly('lifecycle-gc', [provider, driver, 'region'], expected, {
      node: ['--expose-gc'],
    });
  },
);

test('options.shared must be a boolean', async () => {
  const ep = await open({ provider: 'shm', caps: ['FI_MSG'] });
  const refused = ep.domain.allocate(8, ['FI_SEND'], { shared: 1 as never });
  await expect(refused).rejects.toThrow(/options.shared must be a boolean/);
  await settle(ep.close(), ep.domain);
});
