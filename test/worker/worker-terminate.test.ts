import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { casesOf, longCombinations, slow } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';
import { OtherProcess, type Received } from '../support/other-process.js';
import { drivers } from '../support/providers.js';

const abandoned = casesOf(
  ['shm', 'tcp'].flatMap((provider) => drivers.map((driver) => ({ provider, driver }))),
  ({ provider, driver }) => provider === 'shm' && driver === 'loop',
);
const TIMES = slow ? 4 : 2;

test.for(longCombinations)(
  `worker.terminate() of two workers with operations in flight, ${TIMES} times, does not affect the main thread: $provider, $driver driver`,
  async ({ provider, driver }) => {
    const expected = { stdout: `${TIMES} pairs ended` };
    await runCleanly('lifecycle-workers', [provider, driver, 'terminate', TIMES], expected);
  },
);

test.for(abandoned)(
  'operations in flight settle when the worker of their peer ends: $provider, $driver driver',
  async ({ provider, driver }) => {
    const expected = { stdout: '5 abandoned' };
    await runCleanly('lifecycle-workers', [provider, driver, 'abandon'], expected);
  },
);

// Sends a first message: a peer in another process then maps the sender's memory by name.
const senderProgram = `
  const { parentPort, workerData } = require('node:worker_threads');
  import('libfabric').then(async ({ open }) => {
    const ep = await open({ provider: 'shm', driver: workerData.driver });
    setInterval(() => ep.domain.driver === 'manual' && ep.domain.progress(), 1);
    await ep.send(new Uint8Array(8), ep.av.insert(workerData.address));
    parentPort.postMessage('sent');
  });
`;

test.for(casesOf(drivers, (driver) => driver === 'thread'))(
  'shm memory that a peer may be mapping remains after its worker is terminated: %s driver',
  async (driver) => {
    const LINGER = 100; // ms, kLinger in native/engine/endpoint.h
    const peer = await OtherProcess.start({ provider: 'shm' });
    const workerData = { driver, address: peer.address };
    const worker = new Worker(senderProgram, { eval: true, workerData });
    await once(worker, 'message');
    const before = performance.now();
    await worker.terminate();
    expect(performance.now() - before).toBeGreaterThan(LINGER - 1);
    expect((await peer.ask<Received>('recv', 8)).bytes.length).toBe(8);
    await peer.close();
  },
);
