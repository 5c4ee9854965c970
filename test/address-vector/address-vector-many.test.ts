// av.insertMany() inserts many addresses in one call, without blocking the event loop.
import type { Endpoint } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { STALL_MS, Stalls } from '../support/event-loop.js';
import { drivers } from '../support/providers.js';
import { settle } from '../support/settle.js';
import { endpoint, fabricError } from '../support/transfer.js';

const COUNT = 10_000;

/** Returns distinct addresses that are like `own`, but differ from it. */
function addressesLike(own: Uint8Array, provider: string): Uint8Array[] {
  return Array.from({ length: COUNT }, (_, i) => {
    const address = new Uint8Array(own);
    const view = new DataView(address.buffer);
    if (provider === 'efa') {
      view.setUint16(14, 1 + (i & 255)); // part of the GID: another host
      view.setUint16(16, i + 1, true);
    } else {
      view.setUint16(2, 1024 + i);
    }
    return address;
  });
}

async function exchangeWithItself(ep: Endpoint<'FI_EP_RDM', 'FI_MSG'>) {
  const self = ep.av.insert(ep.address);
  await settle(Promise.all([ep.send(pattern(8), self), ep.recv(new Uint8Array(8))]), ep.domain);
}

describe.each(casesOf(['efa', 'tcp;ofi_rxm'], (provider) => provider === 'efa'))(
  '%s',
  (provider) => {
    test.for(casesOf(drivers, (driver) => driver === 'thread'))(
      '10,000 addresses do not block the event loop, %s driver',
      async (driver, context) => {
        const ep = await endpoint(context, provider, ['FI_MSG'], driver);
        const addresses = addressesLike(ep.address, provider);
        await exchangeWithItself(ep); // the first turns of the provider allocate its buffers
        const stalls = new Stalls();
        const peers = await settle(ep.av.insertMany(addresses), ep.domain);
        expect(stalls.end()).toBeLessThan(STALL_MS);
        expect(new Set(peers).size).toBe(COUNT);
        for (const i of [0, 1, 4567, COUNT - 1]) {
          expect(ep.av.lookup(peers[i] as never)).toEqual(addresses[i]);
          expect(ep.av.insert(addresses[i] as never)).toBe(peers[i]);
        }
      },
    );

    test('messages are delivered while addresses are inserted', async (context) => {
      const a = await endpoint(context, provider, ['FI_MSG']);
      const b = await endpoint(context, provider, ['FI_MSG']);
      const [toB, toA] = await a.av.insertMany([b.address, a.address]);
      const inserting = a.av.insertMany(addressesLike(a.address, provider));
      for (const to of [toB, toA, toB]) {
        const into = new Uint8Array(100);
        const received = (to === toB ? b : a).recv(into);
        await settle(Promise.all([a.send(pattern(100), to as never), received]));
        expect(into).toEqual(pattern(100));
      }
      expect(await inserting).toHaveLength(COUNT);
    });
  },
);

test('every address is checked before one is inserted, and the error names the wrong one', async (context) => {
  const ep = await endpoint(context, 'tcp;ofi_rxm', ['FI_MSG']);
  const other = new Uint8Array(ep.address);
  new DataView(other.buffer).setUint16(2, 9);
  const bad = [
    [ep.address.subarray(0, 8), 'ERR_INVALID_ARG_VALUE', /addresses\[2\] has 8 bytes/],
    [new Uint8Array(16), 'ERR_INVALID_ARG_VALUE', /addresses\[2\] has address family 0/],
    [7, 'ERR_INVALID_ARG_TYPE', /addresses\[2\]/],
  ] as const;
  for (const [address, code, message] of bad) {
    const error = await ep.av.insertMany([other, ep.address, address as never]).catch((e) => e);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
  }
  await expect(ep.av.insertMany('x' as never)).rejects.toMatchObject({
    code: 'ERR_INVALID_ARG_TYPE',
  });
  expect(await ep.av.insertMany([])).toEqual([]);
});

test('if one address is refused, the error has its index and the peers that were inserted before it', async (context) => {
  const ep = await endpoint(context, 'shm', ['FI_MSG']);
  const present = await endpoint(context, 'shm', ['FI_MSG']);
  const closed = await endpoint(context, 'shm', ['FI_MSG']);
  await closed.close();
  const list = [ep, present, closed, ep].map((each) => each.address);
  const error = await ep.av.insertMany(list).catch((e: unknown) => e);
  expect(error).toEqual(fabricError('FI_EADDRNOTAVAIL'));
  expect(error).toMatchObject({ index: 2, syscall: 'fi_av_insert' });
  const { inserted } = error as { inserted: unknown };
  expect(inserted).toEqual(list.slice(0, 2).map((address) => ep.av.insert(address)));
  expect(await ep.av.insertMany(list.slice(0, 2))).toEqual(inserted);
});

test('insertMany() rejects if the address vector closes', async (context) => {
  const ep = await endpoint(context, 'tcp;ofi_rxm', ['FI_MSG']);
  const av = ep.domain.addressVector();
  const inserting = av.insertMany(addressesLike(ep.address, 'tcp'));
  await av.close();
  await expect(inserting).rejects.toMatchObject({ code: 'FI_ECANCELED' });
});
