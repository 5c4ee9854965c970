// A store that a program has written: calls that throw, that never settle, and entries that are none.
import { type DirectoryStore, StoredDirectory, type StoredEntry } from 'libfabric/directory';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { warningsFromNow } from '../support/warnings.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<never>(() => {});
const entry = (id: string): StoredEntry => ({ id, address: `address of ${id}`, ttl: 10_000 });

/** A store in memory. The test replaces its calls. */
function opened(name: string) {
  const entries = new Map<string, StoredEntry>();
  const put = vi.fn(async (_: string, it: StoredEntry) => void entries.set(it.id, it));
  const store = {
    name,
    put,
    remove: async (_: string, id: string) => void entries.delete(id),
    list: async () => [...entries.values()],
    close: async () => {},
  } satisfies DirectoryStore;
  const directory = new StoredDirectory(store, { interval: 1000 });
  onTestFinished(() => void directory.close());
  return { store, entries, directory };
}

test('what is no entry is ignored, with one warning', async () => {
  const warnings = warningsFromNow();
  const { directory, store } = opened('a table');
  const throws = {
    get id(): string {
      throw new Error('of the getter');
    },
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const wrong = [
    null,
    undefined,
    7,
    {},
    throws,
    revoked.proxy,
    { ...entry('x'), id: Symbol('id') },
  ];
  const poisoned = [{ ...entry('__proto__') }, { ...entry('b'), ttl: Number.NaN }];
  const huge = { ...entry('c'), address: 'x'.repeat(65_537) };
  store.list = async () => [...wrong, ...poisoned, huge, entry('a')] as StoredEntry[];
  const good = [{ id: 'a', address: 'address of a' }];
  for (let i = 0; i < 3; i++) expect(await directory.lookup('group')).toEqual(good);
  expect(await directory.watch('group').next()).toMatchObject({ value: good });
  await vi.advanceTimersByTimeAsync(3000);
  expect(warnings.length).toBeGreaterThan(4);
  expect(new Set(warnings).size).toBe(warnings.length);
  for (const text of [null, 7, {}, 'entries']) {
    store.list = async () => text as never;
    await expect(directory.lookup('group')).rejects.toThrow(/list\(\) must resolve to an array/);
  }
});

test('a group of more than 256 MiB has a code, and is asked for again after the interval', async () => {
  const { directory, store } = opened('long');
  const many = Array.from({ length: 4097 }, (_, i) => entry(`member-${i}`));
  const address = 'x'.repeat(65_536);
  const list = vi.fn(async () => many.map((each) => ({ ...each, address })));
  store.list = list;
  const error = { code: 'FI_EMSGSIZE', syscall: 'lookup' };
  await expect(directory.lookup('group')).rejects.toMatchObject(error);
  many.pop();
  expect((await directory.lookup('group')).length).toBe(4096);
  many.push(entry('another'));
  const next = directory.watch('group').next();
  await vi.advanceTimersByTimeAsync(999);
  expect(list).toHaveBeenCalledTimes(3);
  many.pop();
  await vi.advanceTimersByTimeAsync(1);
  expect((await next).value?.length).toBe(4096);
});

test('calls that throw reject, and watches go on', async () => {
  const { directory, store, entries } = opened('throws');
  const { list } = store;
  store.list = () => {
    throw new Error('away');
  };
  await expect(directory.lookup('group')).rejects.toMatchObject({ syscall: 'lookup' });
  const watch = directory.watch('group');
  const next = watch.next();
  await vi.advanceTimersByTimeAsync(2000);
  store.list = list;
  entries.set('a', entry('a'));
  await vi.advanceTimersByTimeAsync(2000);
  expect((await next).value?.length).toBe(1);
});

test('a watch goes on after a list() that never settles', async () => {
  const { directory, store, entries } = opened('hangs');
  const watch = directory.watch('group');
  expect((await watch.next()).value).toEqual([]);
  const { list } = store;
  store.list = never;
  await vi.advanceTimersByTimeAsync(2000);
  store.list = list;
  entries.set('a', entry('a'));
  const next = watch.next();
  await vi.advanceTimersByTimeAsync(20_000);
  expect((await next).value?.length).toBe(1);
});

test.each([1000, 9000])(
  'a put() that never settles leaves time for another within a lease of %d ms',
  async (ttl) => {
    const { directory, store } = opened('hangs');
    const { put } = store;
    const renewals: number[] = [];
    await directory.publish('group', entry('a'), { ttl });
    const began = performance.now();
    store.put = vi.fn(() => {
      renewals.push(performance.now() - began);
      return renewals.length === 1 ? never() : put('group', entry('a'));
    });
    await vi.advanceTimersByTimeAsync(3 * ttl);
    expect(renewals[1]).toBeLessThan(Math.max(0.9 * ttl, 2000));
    expect(renewals.length).toBeGreaterThan(3);
  },
);

test('calls that never settle end the calls of the directory in time', async () => {
  const { directory, store } = opened('hangs');
  await directory.publish('group', entry('published'));
  Object.assign(store, { put: never, remove: never, list: never, close: never });
  const results = Promise.allSettled([
    directory.publish('group', entry('a')),
    directory.lookup('group'),
    directory.withdraw('group', 'published'),
  ]);
  await vi.advanceTimersByTimeAsync(20_000);
  const codes = (await results).map((result) => (result as PromiseRejectedResult).reason);
  expect(codes.map(({ code, syscall }) => `${code} ${syscall}`)).toEqual(
    ['publish', 'lookup', 'withdraw'].map((call) => `FI_ETIMEDOUT ${call}`),
  );
  const closed = directory.close().catch((error) => error);
  await vi.advanceTimersByTimeAsync(40_000);
  expect(await closed).toMatchObject({ code: 'FI_ETIMEDOUT', syscall: 'close' });
});
