// Endpoints of one process that communicate through shared memory while some of them close.
import { readFileSync } from 'node:fs';
import { type Endpoint, open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { casesOf, combinations, slow } from '../support/cases.js';
import { exchangeMessage, sharedMemoryOf, tally } from '../support/lifecycle.js';
import { drivers } from '../support/providers.js';
import { settle } from '../support/settle.js';

const sharing = combinations.filter(({ provider }) => provider !== 'tcp');

/** Returns the resident shared memory of this process, in bytes. */
function sharedMemoryInUse(): number {
  const [, kibibytes] = /^RssShmem:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))!;
  return Number(kibibytes) * 1024;
}

const COUNT = slow ? 200 : 50;

describe.each(sharing)('$provider, $driver driver', ({ provider, driver }) => {
  const opened = () => open({ provider, driver, caps: ['FI_MSG', 'FI_RMA'] });

  test('sends to an endpoint that has closed complete or end with an error', async () => {
    const a = await opened();
    const b = await opened();
    const peer = await exchangeMessage(a, b);
    await settle(b.close(), a.domain, b.domain);
    const COUNT = 3000;
    const small = Array.from({ length: COUNT }, () => a.send(new Uint8Array(64), peer));
    const large = Array.from({ length: 10 }, () => a.send(new Uint8Array(1 << 20), peer));
    const ends = tally([...small, ...large]);
    await settle(a.close({ timeout: 100 }), a.domain);
    const { ok = 0, ...errors } = await ends;
    expect(Object.keys(errors).every((code) => code.startsWith('FI_'))).toBe(true);
    expect(ok).toBeLessThan(COUNT + 10);
  });

  test.each(['first', 'second'] as const)(
    'the %s endpoint can close first while messages of all lengths are in flight in both directions',
    async (order) => {
      const pair = [await opened(), await opened()] as const;
      const domains = pair.map(({ domain }) => domain);
      const peers = [
        await exchangeMessage(pair[0], pair[1]),
        await exchangeMessage(pair[1], pair[0]),
      ] as const;
      const operations: Promise<unknown>[] = [];
      for (const [i, ep] of pair.entries()) {
        for (let k = 0; k < 50; k++) operations.push(ep.recv(new Uint8Array(64)));
        for (const length of [8, 4096, 65_536, 1 << 20]) {
          for (let k = 0; k < 50; k++) operations.push(ep.send(new Uint8Array(length), peers[i]!));
        }
      }
      const ends = tally(operations);
      const [first, last] = order === 'first' ? pair : ([pair[1], pair[0]] as const);
      await settle(first.close({ timeout: 50 }), ...domains);
      await settle(last.close({ timeout: 50 }), ...domains);
      const codes = Object.keys(await ends);
      expect(codes.every((code) => code === 'ok' || code.startsWith('FI_'))).toBe(true);
    },
  );

  test('endpoints that have exchanged messages with a closed one can still reach each other', async () => {
    const permanent = [await opened(), await opened()] as const;
    const domains = permanent.map(({ domain }) => domain);
    const peer = await exchangeMessage(...permanent);
    for (let i = 0; i < 5; i++) {
      const guest = await opened();
      permanent[0].av.insert(guest.address);
      await exchangeMessage(guest, permanent[0]);
      await exchangeMessage(permanent[1], guest);
      await settle(guest.close(), ...domains, guest.domain);
      const into = new Uint8Array(100_000);
      const received = permanent[1].recv(into);
      const sent = permanent[0].send(new Uint8Array(100_000).fill(i + 1), peer);
      await settle(Promise.all([received, sent]), ...domains);
      expect(into.every((byte) => byte === i + 1)).toBe(true);
    }
    for (const ep of permanent) await ep.close();
  });
});

describe.each(casesOf(drivers, (driver) => driver === 'thread'))('shm, %s driver', (driver) => {
  const opened = () => open({ provider: 'shm', driver, caps: ['FI_MSG'] });

  test('insert() refuses the address of a closed endpoint', async () => {
    const a = await opened();
    const b = await opened();
    const third = await opened();
    await exchangeMessage(a, b);
    const { address } = b;
    await b.close();
    for (const ep of [a, third]) {
      expect(() => ep.av.insert(address)).toThrow(
        expect.objectContaining({ code: 'FI_EADDRNOTAVAIL', syscall: 'fi_av_insert' }),
      );
    }
    await a.close();
    expect(() => third.av.insert(address)).toThrow(
      expect.objectContaining({ code: 'FI_EADDRNOTAVAIL' }),
    );
    await third.close();
  });

  test(`${COUNT} pairs that open, exchange messages and close leave no files and no shared memory`, async () => {
    const round = async () => {
      const a = await opened();
      const b = await opened();
      await exchangeMessage(a, b);
      await exchangeMessage(b, a);
      await a.close();
      await b.close();
    };
    await round();
    const before = sharedMemoryInUse();
    for (let i = 0; i < COUNT; i++) await round();
    expect(sharedMemoryOf(process.pid)).toEqual([]);
    expect(sharedMemoryInUse() - before).toBeLessThan(8 << 20);
  });

  test(`${COUNT} endpoints without messages leave no files when they close`, async () => {
    const permanent = [await opened(), await opened()] as const;
    await exchangeMessage(...permanent);
    for (let i = 0; i < COUNT; i++) await (await opened()).close();
    expect(sharedMemoryOf(process.pid)).toHaveLength(2);
    for (const ep of permanent) await ep.close();
  });

  test('the file of a closed endpoint is removed when the last endpoint that exchanged messages with it closes', async () => {
    const host = await opened();
    const guests: Endpoint<'FI_EP_RDM', 'FI_MSG'>[] = [];
    for (let i = 0; i < 10; i++) {
      const guest = await opened();
      guests.push(guest);
      await exchangeMessage(guest, host);
      await guest.close();
    }
    expect(guests.every(({ closed }) => closed)).toBe(true);
    expect(sharedMemoryOf(process.pid)).toHaveLength(11);
    await host.close();
    expect(sharedMemoryOf(process.pid)).toEqual([]);
  });
});
