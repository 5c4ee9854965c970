// Services that can be read and not be written, and services that have lost what they had.
import { type DirectoryStore, StoredDirectory, type StoredEntry } from 'libfabric/directory';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { warningsFromNow } from '../support/warnings.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A table in memory, of which a directory of this process watches a group, and in which it may have an entry. */
async function opened(own: { ttl: number } | undefined) {
  warningsFromNow();
  const entries = new Map<string, StoredEntry>();
  const write = (entry: StoredEntry) => void entries.set(entry.id, entry);
  const put = vi.fn(async (_: string, entry: StoredEntry): Promise<void> => write(entry));
  const store = {
    name: 'a table',
    put,
    remove: async (_: string, id: string): Promise<void> => void entries.delete(id),
    list: async () => [...entries.values()],
    close: async () => {},
  } satisfies DirectoryStore;
  const directory = new StoredDirectory(store, { interval: 100 });
  onTestFinished(() => void directory.close());
  for (const id of ['dying', 'living']) write({ id, address: id, ttl: 3000 });
  if (own) await directory.publish('group', { id: 'own', address: 'own' }, own);
  let seen = '';
  void (async () => {
    for await (const found of directory.watch('group')) seen = found.map(({ id }) => id).join();
  })();
  await vi.advanceTimersByTimeAsync(500);
  return { directory, store, entries, write, put, seen: () => seen };
}

const full = () => Promise.reject(new Error('no space left'));

describe.each([3000, 60_000])('with an own entry of %d ms', (ttl) => {
  test('nobody is lost while entries cannot be renewed, and the dead are lost one lease after it', async () => {
    const { store, entries, write, put, seen } = await opened({ ttl });
    store.put = vi.fn(full);
    await vi.advanceTimersByTimeAsync(1000);
    entries.clear(); // all leases have ended
    await vi.advanceTimersByTimeAsync(20_000);
    expect(seen()).toBe('dying,living,own');
    store.put = put;
    write({ id: 'living', address: 'living', ttl: 3000 });
    await vi.advanceTimersByTimeAsync(2500);
    expect(seen()).toBe('dying,living,own');
    await vi.advanceTimersByTimeAsync(2500);
    expect(seen()).toBe('living,own');
  });

  test('a renewal that does not settle counts as one that fails', async () => {
    const { store, entries, seen } = await opened({ ttl });
    store.put = vi.fn(() => new Promise<void>(() => {}));
    await vi.advanceTimersByTimeAsync(1000);
    entries.clear();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen()).toBe('dying,living,own');
  });

  test('a service that has lost its data has lost nobody', async () => {
    const { entries, write, seen } = await opened({ ttl });
    entries.clear();
    await vi.advanceTimersByTimeAsync(200);
    expect(seen()).toBe('dying,living,own');
    expect([...entries.keys()]).toEqual(['own']); // it is published again at once
    write({ id: 'living', address: 'living', ttl: 3000 });
    await vi.advanceTimersByTimeAsync(2000);
    expect(seen()).toBe('dying,living,own');
    await vi.advanceTimersByTimeAsync(2000);
    expect(seen()).toBe('living,own');
  });

  test('who leaves is lost at once if entries can be renewed', async () => {
    const { entries, put, seen } = await opened({ ttl });
    const before = put.mock.calls.length;
    entries.delete('dying');
    await vi.advanceTimersByTimeAsync(200);
    expect(seen()).toBe('living,own');
    await vi.advanceTimersByTimeAsync(100);
    expect(put.mock.calls.length).toBeLessThanOrEqual(before + 1);
  });

  test('an entry that this process withdraws is no loss of data', async () => {
    const { directory, entries, seen } = await opened({ ttl });
    entries.delete('dying');
    await directory.withdraw('group', 'own');
    await vi.advanceTimersByTimeAsync(200);
    expect(seen()).toBe('living');
  });
});

test('a process without an entry of its own believes what the directory says', async () => {
  const { store, entries, seen } = await opened(undefined);
  store.put = vi.fn(full);
  entries.delete('dying');
  await vi.advanceTimersByTimeAsync(200);
  expect(seen()).toBe('living');
});

test('calls of one entry come to the service one after the other', async () => {
  const { directory, store, entries } = await opened(undefined);
  let running = 0;
  let most = 0;
  const slowly =
    <A extends readonly unknown[]>(call: (...args: A) => Promise<void>) =>
    async (...args: A) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 50));
      await call(...args);
      running -= 1;
    };
  store.put = vi.fn(slowly(store.put));
  store.remove = slowly(store.remove);
  const publish = (address: string) => directory.publish('group', { id: 'one', address });
  const calls = [publish('1'), directory.withdraw('group', 'one'), publish('2'), publish('3')];
  calls.push(directory.withdraw('group', 'one'), publish('4'));
  await vi.advanceTimersByTimeAsync(1000);
  await Promise.all(calls);
  expect([most, entries.get('one')?.address]).toEqual([1, '4']);
  const failing = directory.withdraw('group', 'one');
  store.put = vi.fn(full);
  const failed = expect(publish('5')).rejects.toThrow('no space left');
  const closed = directory.close();
  await vi.advanceTimersByTimeAsync(1000);
  await Promise.all([failing, failed, closed]);
  expect(entries.has('one')).toBe(false);
});
