import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type DomainOptions, type Endpoint, open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { exchangeMessage, until } from '../support/lifecycle.js';
import { drivers, PROVIDERS } from '../support/providers.js';
import { settle } from '../support/settle.js';

type Ep = Endpoint<'FI_EP_RDM', 'FI_MSG'>;
const opened = (provider: string, options: DomainOptions) =>
  open({ provider, caps: ['FI_MSG'], ...options });

async function pair(provider: string, options: DomainOptions) {
  const a = await opened(provider, options);
  const b = await opened(provider, options);
  return { a, b, peer: await exchangeMessage(a, b) };
}

async function close(...endpoints: Ep[]): Promise<void> {
  for (const endpoint of endpoints) await endpoint.close();
}

function engineThreads(): { cores: string }[] {
  return readdirSync('/proc/self/task')
    .map((id) => readFileSync(`/proc/self/task/${id}/status`, 'utf8'))
    .filter((status) => /^Name:\tlibfabric$/m.test(status))
    .map((status) => ({ cores: /^Cpus_allowed_list:\t(.*)$/m.exec(status)?.[1] ?? '' }));
}

/** Returns the milliseconds of CPU time that this process uses in one second. */
async function cpuOfOneSecond(): Promise<number> {
  const before = process.cpuUsage();
  const end = performance.now() + 1000;
  await new Promise((resolve) => setTimeout(resolve, end - performance.now()));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe.each(PROVIDERS)('%s: the thread driver', (provider) => {
  test('close() ends the thread and closes the descriptors, without garbage collection', async () => {
    await close(await opened(provider, { driver: 'thread' })); // opens descriptors that stay for the whole process
    const before = readdirSync('/proc/self/fd').length;
    const endpoints: Ep[] = [];
    for (let i = 0; i < 3; i++) endpoints.push(await opened(provider, { driver: 'thread' }));
    await close(...endpoints);
    expect(readdirSync('/proc/self/fd').length).toBe(before);
    expect(engineThreads()).toEqual([]);
  });

  test('does not block the event loop during transfers', async () => {
    const { a, b, peer } = await pair(provider, { driver: 'thread' });
    const block = new Uint8Array(1 << 20);
    const into = Array.from({ length: 8 }, () => new Uint8Array(1 << 20));
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const end = performance.now() + 1000;
    while (performance.now() < end) {
      const received = Promise.all(into.map((buffer) => b.recv(buffer)));
      await Promise.all([...into.map(() => a.send(block, peer)), received]);
    }
    delay.disable();
    // A generous limit: the machine may have fewer cores than there are polling threads.
    expect(delay.percentile(50) / 1e6).toBeLessThan(20);
    await close(a, b);
  });

  test('runs on the cores of `affinity`', async () => {
    const before = engineThreads().length;
    const core = availableParallelism() - 1;
    const ep = await opened(provider, { driver: 'thread', affinity: [core] });
    await until(() => engineThreads().length === before + 1);
    expect(engineThreads().at(-1)?.cores).toBe(String(core));
    await ep.close();
    expect(engineThreads().length).toBe(before);
  });

  test('ends with its domain', async () => {
    const before = engineThreads().length;
    const endpoints = await Promise.all(
      [1, 2, 3].map(() => opened(provider, { driver: 'thread' })),
    );
    await until(() => engineThreads().length === before + 3);
    await close(...endpoints);
    expect(engineThreads().length).toBe(before);
  });

  test('uses little CPU time while idle with receives posted', async () => {
    const { a, b } = await pair(provider, { driver: 'thread' });
    const pending = [a.recv(new Uint8Array(8)), b.recv(new Uint8Array(8))];
    for (const receive of pending) receive.catch(() => {});
    const sleeps = a.domain.stats().sleeps;
    await until(() => a.domain.stats().sleeps > sleeps);
    expect(await cpuOfOneSecond()).toBeLessThan(2 * 100);
    await close(a, b);
  });

  test('polls at the interval `idle` if the queue is not waitable', async () => {
    const turnsOf = async (idle: number) => {
      const ep = await opened(provider, { driver: 'thread', spin: 0, idle });
      const { sleeps } = ep.domain.stats();
      await until(() => ep.domain.stats().sleeps > sleeps);
      const before = ep.domain.stats().sleeps;
      await cpuOfOneSecond();
      const count = ep.domain.stats().sleeps - before;
      const { waitable } = ep.receiveQueue;
      await ep.close();
      return waitable ? 0 : count;
    };
    const rarely = await turnsOf(200);
    const often = await turnsOf(2);
    expect(rarely).toBeLessThan(20);
    if (often > 0) expect(often).toBeGreaterThan(rarely); // 500 on a quiet machine
    expect(often).toBeLessThan(1000);
  });

  test('`spin` keeps it polling after the last operation', async () => {
    const { a, b, peer } = await pair(provider, { driver: 'thread', spin: 10_000 });
    const received = b.recv(new Uint8Array(8));
    await Promise.all([a.send(new Uint8Array(8), peer), received]);
    const before = a.domain.stats();
    await until(() => a.domain.stats().turns > before.turns + 1000);
    expect(a.domain.stats().sleeps).toBe(before.sleeps);
    await close(a, b);
  });
});

test('shm: loop drivers of one event loop do not spin while another one has work', async () => {
  const ROUNDS = 200;
  const { a, b, peer } = await pair('shm', { driver: 'loop' });
  const back = b.av.insert(a.address);
  const [ping, pong] = [new Uint8Array(8), new Uint8Array(8)];
  const answers = (async () => {
    for (let i = 0; i < ROUNDS; i++) {
      await b.recv(pong);
      await b.send(pong, back);
    }
  })();
  for (let i = 0; i < ROUNDS; i++) {
    const received = a.recv(ping);
    await Promise.all([a.send(ping, peer), received]);
  }
  await answers;
  // A round takes 10 turns. If each driver spins for 20 us while the other one has work, it takes 400.
  expect(a.domain.stats().turns + b.domain.stats().turns).toBeLessThan(100 * ROUNDS);
  await close(a, b);
});

describe.each(PROVIDERS)('%s: the loop driver', (provider) => {
  test('does not block timers and sockets during transfers', async () => {
    const { a, b, peer } = await pair(provider, { driver: 'loop' });
    let echoed = 0;
    const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = connect((server.address() as { port: number }).port, '127.0.0.1');
    socket.on('data', () => {
      echoed++;
      socket.write('again');
    });
    socket.write('first');
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    const end = performance.now() + 1000;
    let messages = 0;
    while (performance.now() < end || echoed < 20 || ticks < 20) {
      const received = Array.from({ length: 64 }, () => b.recv(new Uint8Array(64)));
      const sent = Array.from({ length: 64 }, () => a.send(new Uint8Array(64), peer));
      await Promise.all([...sent, ...received]);
      messages += 64;
    }
    expect(messages).toBeGreaterThan(1000);
    clearInterval(timer);
    socket.removeAllListeners('data').end();
    await once(socket, 'close');
    server.close();
    await close(a, b);
  });

  test('uses little CPU time while idle with receives posted', async () => {
    const { a, b } = await pair(provider, { driver: 'loop' });
    a.recv(new Uint8Array(8)).catch(() => {});
    b.recv(new Uint8Array(8)).catch(() => {});
    const { sleeps } = b.domain.stats();
    await until(() => b.domain.stats().sleeps > sleeps);
    expect(await cpuOfOneSecond()).toBeLessThan(2 * 150);
    await close(a, b);
  });

  test('starts no thread', async () => {
    const before = engineThreads().length;
    const ep = await opened(provider, { driver: 'loop' });
    expect(engineThreads().length).toBe(before);
    await ep.close();
  });
});

describe.each(PROVIDERS)('%s: the manual driver', (provider) => {
  test('transfers nothing without progress()', async () => {
    const { a, b, peer } = await pair(provider, { driver: 'manual' });
    const before = [a.domain.stats(), b.domain.stats()];
    let done = false;
    const both = Promise.all([b.recv(new Uint8Array(8)), a.send(new Uint8Array(8), peer)]);
    both.then(() => {
      done = true;
    });
    for (let i = 0; i < 100; i++) await new Promise(setImmediate);
    expect(done).toBe(false);
    expect([a.domain.stats(), b.domain.stats()]).toEqual(before);
    await settle(both, a.domain, b.domain);
    await close(a, b);
  });

  test('wait() returns at its timeout, or when `count` operations have completed', async () => {
    const { a, b, peer } = await pair(provider, { driver: 'manual' });
    let start = performance.now();
    a.domain.wait(1, 100);
    let took = performance.now() - start;
    expect(took).toBeGreaterThanOrEqual(99);
    expect(took).toBeLessThan(1000);

    const received = b.recv(new Uint8Array(8));
    const sent = a.send(new Uint8Array(8), peer);
    start = performance.now();
    a.domain.wait(1, 10_000);
    b.domain.wait(1, 10_000);
    took = performance.now() - start;
    await Promise.all([sent, received]);
    expect(took).toBeLessThan(5000);
    a.domain.wait(0, 10_000);
    expect(performance.now() - start).toBeLessThan(5000);
    await close(a, b);
  });

  test('run() throws at its timeout, and the batch remains in flight', async () => {
    const { a } = await pair(provider, { driver: 'manual' });
    const batch = a.batch();
    batch.recv(new Uint8Array(8));
    const timeout = expect.objectContaining({ code: 'FI_ETIMEDOUT' });
    expect(() => batch.run(50)).toThrow(timeout);
    expect(batch.inFlight).toBe(1);
    await a.close();
    expect(batch.inFlight).toBe(0);
  });
});

describe.each(drivers)('%s driver', (driver) => {
  test('only the manual driver has progress(), wait() and run()', async () => {
    const ep = await opened('shm', { driver });
    if (driver !== 'manual') {
      const refused = expect.objectContaining({ code: 'ERR_INVALID_STATE' });
      expect(() => ep.domain.progress()).toThrow(refused);
      expect(() => ep.domain.wait(1, 1)).toThrow(refused);
      const batch = ep.batch();
      batch.recv(new Uint8Array(8));
      expect(() => batch.run()).toThrow(refused);
    } else {
      ep.domain.progress();
      ep.domain.wait(0, 0);
    }
    await ep.close();
  });
});

describe.each(drivers)('the %s driver: domain.until()', (driver) => {
  const openOne = async () => {
    const ep = await opened('tcp', { driver });
    return { ep, self: ep.av.insert(ep.address), domain: ep.domain };
  };

  test('resolves with the result of the promise', async () => {
    const { ep, self, domain } = await openOne();
    const received = ep.recv(new Uint8Array(8));
    await domain.until(ep.send(new Uint8Array(8), self));
    expect((await domain.until(received)).length).toBe(8);
    await ep.close();
  });

  test('rejects like the promise, also when the domain closes', async () => {
    const { ep, domain } = await openOne();
    const late = ep.recv(new Uint8Array(8), null, { timeout: 20 });
    await expect(domain.until(late)).rejects.toMatchObject({ code: 'FI_ETIMEDOUT' });
    const ended = domain.until(ep.recv(new Uint8Array(8)));
    ended.catch(() => {});
    await domain.close();
    await expect(ended).rejects.toMatchObject({ code: 'FI_ECANCELED' });
  });

  test('refuses a value that is not a promise', async () => {
    const { ep, domain } = await openOne();
    await expect(domain.until(7 as never)).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
    await ep.close();
  });
});
