// `busyPoll`: the event loop runs the engine after it has read completions.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { type DomainOptions, open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { casesOf, slow } from '../support/cases.js';
import { exchangeMessage } from '../support/lifecycle.js';
import { PROVIDERS } from '../support/providers.js';

async function pair(provider: string, options: DomainOptions) {
  const a = await open({ provider, caps: ['FI_MSG'], ...options });
  const b = await open({ provider, caps: ['FI_MSG'], ...options, threadOf: a.domain });
  const peer = await exchangeMessage(a, b);
  return {
    a,
    b,
    async exchange() {
      const target = new Uint8Array(64);
      await Promise.all([a.send(Uint8Array.of(1, 2, 3), peer), b.recv(target)]);
      expect([...target.subarray(0, 3)]).toEqual([1, 2, 3]);
    },
    async close() {
      await b.close();
      await a.close();
    },
  };
}

describe.each(casesOf(PROVIDERS, (provider) => provider === 'efa'))('%s', (provider) => {
  if (slow)
    test('while the event loop polls, the thread seldom wakes it', async () => {
      const { a, b, exchange, close } = await pair(provider, { busyPoll: 60_000 });
      await exchange();
      const wakeups = () => a.domain.stats().wakeups + b.domain.stats().wakeups;
      const wakeupsOfMany = async () => {
        const before = wakeups();
        for (let i = 0; i < 500; i++) await exchange();
        return wakeups() - before;
      };
      // If this process does not run for some time, the thread takes the engine back for 10 ms.
      while ((await wakeupsOfMany()) > 100);
      await close();
    });

  test('during a long callback, the thread runs the engine', async () => {
    const { a, b, exchange, close } = await pair(provider, { busyPoll: 60_000 });
    for (let i = 0; i < 3; i++) {
      await exchange();
      for (const { domain } of [a, b]) {
        const { turns } = domain.stats();
        const end = performance.now() + 10_000;
        while (domain.stats().turns < turns + 100) expect(performance.now()).toBeLessThan(end);
      }
    }
    await exchange();
    await close();
  });

  test('afterwards, the event loop waits, and the thread wakes it', async () => {
    const { a, b, exchange, close } = await pair(provider, { busyPoll: 2 });
    const waits = async () => {
      const { idle } = performance.eventLoopUtilization();
      while (performance.eventLoopUtilization().idle === idle) await delay(1);
    };
    for (let i = 0; i < 10; i++) {
      const { wakeups } = a.domain.stats();
      await exchange();
      await waits();
      await exchange();
      expect(a.domain.stats().wakeups + b.domain.stats().wakeups).toBeGreaterThan(wakeups);
    }
    await close();
  });

  test('no completion is missed when the event loop stops polling', async () => {
    // About as long as an exchange takes, so that many polls end while completions arrive.
    const { exchange, close } = await pair(provider, { busyPoll: 0.02 });
    for (let i = 0; i < 3000; i++) {
      await exchange();
      if (i % 3 === 0) await turn();
    }
    await close();
  });

  test('timers and sockets are served while the event loop polls', async () => {
    const { a, exchange, close } = await pair(provider, { busyPoll: 60_000 });
    await exchange();
    const waiting = a.recv(new Uint8Array(8));
    waiting.catch(() => {});
    const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as { port: number }).port, '127.0.0.1');
    const delays = monitorEventLoopDelay({ resolution: 1 });
    delays.enable();
    for (let i = 0; i < 200; i++) {
      socket.write('echo');
      await once(socket, 'data');
    }
    delays.disable();
    expect(delays.percentile(50) / 1e6).toBeLessThan(20); // generous, for a busy machine
    socket.end();
    await once(socket, 'close');
    server.close();
    await close();
  });
});

test('a program whose event loop polls ends when nothing is pending', () => {
  const program = `
    const { open } = await import('libfabric');
    const ep = await open({ provider: 'shm', caps: ['FI_MSG'], busyPoll: 60_000 });
    const self = ep.av.insert(ep.address);
    await Promise.all([ep.recv(new Uint8Array(8)), ep.send(new Uint8Array(8), self)]);
    console.log('done');
  `;
  const { stdout, status } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', program],
    { encoding: 'utf8', timeout: 30_000 },
  );
  expect([stdout, status]).toEqual(['done\n', 0]);
});
