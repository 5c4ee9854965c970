// Opens and closes one object many times, and measures the resources that each time leaves.
import { open } from 'libfabric';
import { optionsOf } from './load.mjs';
import { sample } from './sample.mjs';

const BLOCK = 100;

/** The objects. Each function returns a function that opens and closes once, and one that ends the series. */
const THINGS = {
  async endpoints(provider) {
    const once = async () => (await open(optionsOf(provider))).close();
    return { once, end: async () => {} };
  },
  async regions(provider) {
    const endpoint = await open(optionsOf(provider));
    const memory = new Uint8Array(65_536);
    const once = async () => (await endpoint.domain.register(memory, ['FI_REMOTE_READ'])).close();
    return { once, end: () => endpoint.close() };
  },
  async peers(provider) {
    const [endpoint, other] = [await open(optionsOf(provider)), await open(optionsOf(provider))];
    const address = Buffer.from(other.address);
    const change = CHANGES[provider] ?? (() => {});
    let next = 0;
    const once = async () => {
      change(address, next++);
      await endpoint.av.remove(endpoint.av.insert(address));
    };
    return { once, end: () => Promise.all([endpoint.close(), other.close()]) };
  },
};

/** Makes the address of another peer from an address. An address of shm names a file, which must exist, so it stays. */
const CHANGES = {
  tcp: (address, i) => address.writeUInt32BE(0x7f000001 + i, 4), // 127.0.0.1 and the following addresses
  // The queue key of a restarted process on another host, because within a host efa searches for a file of shm.
  efa: (address, i) => {
    address[14] = 1;
    address.writeUInt32LE(i + 1, 20);
  },
};

/** @returns bytes of RSS for each time, and the growth of descriptors and threads, after the first tenth of the times */
export async function churn(thing, provider, times, goesOn) {
  const { once, end } = await THINGS[thing](provider);
  let first;
  let done = 0;
  for (; done < times && (done < BLOCK || goesOn()); done++) {
    if (first === undefined && done >= times / 10) first = { done, ...sample() };
    await once();
  }
  const last = sample();
  await end();
  const since = done - (first?.done ?? 0);
  const grown = (name) => last[name] - (first ?? last)[name];
  return {
    thing,
    provider,
    times: done,
    bytesEach: Math.round((grown('rss') * 2 ** 20) / Math.max(1, since)),
    descriptors: grown('descriptors'),
    threads: grown('threads'),
    registrations: grown('registrations'),
    shared: grown('shared'),
  };
}

export const NAMES = Object.keys(THINGS);
