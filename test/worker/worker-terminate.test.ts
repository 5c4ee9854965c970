import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { DRIVERS, PROVIDERS, runCleanly } from '../support/lifecycle.js';
import { OtherProcess, type Received } from '../support/other-process.js';

describe.each(PROVIDERS)('%s', (provider) => {
  test.each(DRIVERS)(
    'worker.terminate() with operations in flight, 20 times, leaves the main thread at work: %s driver',
    async (driver) => {
      const expected = { stdout: '20 ended' };
      await runCleanly('lifecycle-workers', [provider, driver, 'terminate'], expected);
    },
  );
});

describe.each(['shm', 'tcp'])('%s', (provider) => {
  test.each(DRIVERS)(
    'the peer of operations in flight ends with its worker: %s driver',
    async (driver) => {
      const expected = { stdout: '5 deserted' };
      await runCleanly('lifecycle-workers', [provider, driver, 'desert'], expected);
    },
  );
});

// Sends a first message, which makes a peer of another process map the sender's memory by name.
const announce = `
  const { parentPort, workerData } = require('node:worker_threads');
  import('libfabric').then(async ({ open }) => {
    const ep = await open({ provider: 'shm', driver: workerData.driver });
    setInterval(() => ep.domain.driver === 'manual' && ep.domain.progress(), 1);
    await ep.send(new Uint8Array(8), ep.av.insert(workerData.address));
    parentPort.postMessage('sent');
  });
`;

test.for(DRIVERS)(
  'memory of shm that a peer may be mapping outlives its terminated worker: %s driver',
  async (driver) => {
    const LINGER = 100; // ms, kLinger in native/endpoint.h
    const peer = await OtherProcess.start({ provider: 'shm' });
    const workerData = { driver, address: peer.address };
    const worker = new Worker(announce, { eval: true, workerData });
    await once(worker, 'message');
    const before = performance.now();
    await worker.terminate();
    expect(performance.now() - before).toBeGreaterThan(LINGER - 1);
    expect((await peer.ask<Received>('recv', 8)).bytes.length).toBe(8);
    await peer.close();
  },
);
