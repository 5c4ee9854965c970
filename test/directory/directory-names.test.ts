// Names with odd characters, entries that somebody else changes, the same entry twice, and calls at the same time.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type DirectoryStore,
  FolderDirectory,
  StoredDirectory,
  type StoredEntry,
} from 'libfabric/directory';
import { TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Deferred } from '../../dist/base/deferred.js';
import { until } from '../support/lifecycle.js';
import { MemoryDirectory } from '../support/memory-directory.js';
import { isPending, settle } from '../support/settle.js';
import { warningsFromNow } from '../support/warnings.js';

const tcp = { provider: 'tcp', node: '127.0.0.1' };

async function newEngine() {
  const engine = await TransferEngine.open(tcp);
  onTestFinished(() => engine.close());
  return engine;
}

function inFolder() {
  const parent = mkdtempSync(join(tmpdir(), 'libfabric-names-'));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  const open = () => {
    const directory = new FolderDirectory(parent, { interval: 20 });
    onTestFinished(() => directory.close());
    return directory;
  };
  return { parent, open };
}

/** A store in memory whose calls the test replaces. */
function inStore() {
  const entries = new Map<string, StoredEntry>();
  const store: { -readonly [Name in keyof DirectoryStore]: DirectoryStore[Name] } = {
    name: 'a table',
    put: vi.fn(async (_: string, entry: StoredEntry) => void entries.set(entry.id, entry)),
    remove: vi.fn(async (_: string, id: string) => void entries.delete(id)),
    list: async () => [...entries.values()],
    close() {},
  };
  const directory = new StoredDirectory(store, { interval: 20 });
  onTestFinished(() => directory.close().catch(() => {}));
  return { store, entries, directory };
}

const ODD = [
  '',
  '.',
  '..',
  '../x',
  'a/b',
  '/a',
  'a\\b',
  '%2e%2e',
  'a%2fb',
  '-a',
  '.a',
  'ü',
  'a b',
  'a\n',
  'a\0',
  '\u202e',
  'x'.repeat(201),
  'x'.repeat(300),
  '__proto__',
  '{a}',
  '*',
  '𝕏',
];
const GOOD = [
  'a',
  'A.b_c:d@e-f',
  '0',
  'x'.repeat(200),
  'constructor',
  'toString',
  'a..',
  'a__proto__',
];

describe('names', () => {
  test('with odd characters are refused in each call, and nothing is written', async () => {
    const { parent, open } = inFolder();
    const directory = open();
    const value = { code: 'ERR_INVALID_ARG_VALUE' };
    for (const name of ODD) {
      const entry = { id: name, address: 'x' };
      await expect(directory.publish(name, { id: 'a', address: 'x' }), name).rejects.toMatchObject(
        value,
      );
      await expect(directory.publish('a', entry), name).rejects.toMatchObject(value);
      await expect(directory.withdraw(name, 'a'), name).rejects.toMatchObject(value);
      await expect(directory.withdraw('a', name), name).rejects.toMatchObject(value);
      await expect(directory.lookup(name), name).rejects.toMatchObject(value);
      expect(() => directory.watch(name), name).toThrow(expect.objectContaining(value));
    }
    expect(readdirSync(parent)).toEqual([]);
    const engine = await newEngine();
    for (const name of ODD)
      await expect(engine.join(directory, name), name).rejects.toMatchObject(value);
  });

  test('of all permitted forms work', async () => {
    const { open } = inFolder();
    const [one, other] = [open(), open()];
    for (const name of GOOD) {
      await one.publish(name, { id: name, address: `of ${name}` });
      expect(await other.lookup(name)).toEqual([{ id: name, address: `of ${name}` }]);
      await one.withdraw(name, name);
      expect(await other.lookup(name)).toEqual([]);
    }
  });
});

describe('an entry that somebody else', () => {
  test('changes or removes is written again by its owner', async () => {
    const { parent, open } = inFolder();
    const [owner, other] = [open(), open()];
    await owner.publish('a', { id: 'x', address: 'mine' }, { ttl: 300 });
    const file = join(parent, 'a/x');
    const record = readFileSync(file, 'utf8');
    writeFileSync(file, JSON.stringify({ address: 'forged', ttl: 300 }));
    expect(await other.lookup('a')).toEqual([{ id: 'x', address: 'forged' }]);
    await until(() => readFileSync(file, 'utf8') === record);
    rmSync(file);
    await until(() => existsSync(file));
    rmSync(join(parent, 'a'), { recursive: true });
    await until(() => existsSync(file));
    expect(await other.lookup('a')).toEqual([{ id: 'x', address: 'mine' }]);
  });

  test('changes does not move a member, whose peer stays', async () => {
    const directory = new MemoryDirectory();
    const [a, b, c] = [await newEngine(), await newEngine(), await newEngine()];
    const membership = await a.join(directory, 'group');
    await b.join(directory, 'group');
    await until(() => membership.peers.size === 1);
    const peer = membership.peers.get(b.id);
    for (const address of [c.address, 'noise', '', a.address]) directory.set({ id: b.id, address });
    await new Promise(setImmediate);
    expect([membership.peers.size, membership.peers.get(b.id)]).toEqual([1, peer]);
    await peer?.notify(Buffer.from('x'));
    expect((await settle(b.notifications().next())).value?.from?.id).toBe(a.id);
  });
});

describe('the same member', () => {
  test('is published twice by one directory as one entry, the last one', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { directory, entries, store } = inStore();
    const both = [1, 2].map((i) =>
      directory.publish('g', { id: 'a', address: String(i) }, { ttl: 300 }),
    );
    await Promise.all(both);
    expect(entries.get('a')?.address).toBe('2');
    await directory.withdraw('g', 'a');
    const puts = vi.mocked(store.put).mock.calls.length;
    await vi.advanceTimersByTimeAsync(1000);
    expect([entries.size, vi.mocked(store.put).mock.calls.length]).toEqual([0, puts]);
  });

  test('in the list twice is one peer', async () => {
    const directory = new MemoryDirectory();
    const [a, b] = [await newEngine(), await newEngine()];
    const entry = { id: b.id, address: b.address };
    directory.watch = async function* (_, { signal } = {}) {
      yield [entry, { ...entry }, entry];
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    } as typeof directory.watch;
    const membership = await a.join(directory, 'group');
    expect([...membership.peers.keys()]).toEqual([b.id]);
    const events = membership.events();
    expect((await settle(events.next())).value).toMatchObject({ type: 'joined' });
    expect(await isPending(events.next())).toBe(true);
  });

  test('that joins twice at once is refused once, also by two names of one directory', async () => {
    const { open } = inFolder();
    const directory = open();
    const engine = await newEngine();
    const results = await Promise.allSettled([
      engine.join(directory, 'g'),
      engine.join(directory, 'g'),
      engine.join(directory, 'h'),
    ]);
    expect(
      results.map((result) => (result.status === 'rejected' ? result.reason.code : 'joined')),
    ).toEqual(['joined', 'ERR_INVALID_STATE', 'joined']);
    expect((await directory.lookup('g')).map(({ id }) => id)).toEqual([engine.id]);
  });
});

/** Lets put() wait for release() from now on. `begun` resolves when it is called. */
function heldPut(store: ReturnType<typeof inStore>['store']) {
  const { put } = store;
  const called = new Deferred<void>();
  const released = new Deferred<void>();
  store.put = async (...entry) => {
    called.resolve();
    await released.promise;
    await put(...entry);
  };
  return { begun: called.promise, release: () => released.resolve() };
}

describe('leave()', () => {
  test('during a renewal removes the entry, also if the renewal ends later', async () => {
    const { directory, entries, store } = inStore();
    const engine = await newEngine();
    const membership = await engine.join(directory, 'g', { ttl: 300 });
    const { begun, release } = heldPut(store);
    await settle(begun);
    const leaving = membership.leave();
    expect(await isPending(leaving)).toBe(true);
    release();
    await settle(leaving);
    expect(entries.size).toBe(0);
  });

  test('during join() ends it, and nothing stays', async () => {
    const { directory, entries, store } = inStore();
    const engine = await newEngine();
    const { begun, release } = heldPut(store);
    const joining = engine.join(directory, 'g');
    await settle(begun);
    const closing = engine.close();
    release();
    await expect(joining).rejects.toMatchObject({ code: 'ERR_CLOSED' });
    await settle(closing);
    await until(() => entries.size === 0);
  });
});

describe('while the store is down', () => {
  test('calls reject with a code, watches wait, and a later list works', async () => {
    const warnings = warningsFromNow();
    const { directory, entries, store } = inStore();
    await directory.publish('g', { id: 'a', address: 'x' }, { ttl: 60_000 });
    const watch = directory.watch('g');
    expect((await settle(watch.next())).value?.length).toBe(1);
    const up = { ...store };
    const down = () => Promise.reject(Object.assign(new Error('down'), { errno: -111 }));
    Object.assign(store, { put: down, remove: down, list: down });
    const failed = { name: 'FabricError', code: 'FI_ECONNREFUSED' };
    await expect(directory.lookup('g')).rejects.toMatchObject({ ...failed, syscall: 'lookup' });
    await expect(directory.withdraw('g', 'a')).rejects.toMatchObject({
      ...failed,
      syscall: 'withdraw',
    });
    await expect(directory.publish('g', { id: 'b', address: 'x' })).rejects.toMatchObject({
      ...failed,
      syscall: 'publish',
    });
    const next = watch.next();
    await until(() => warnings.some((text) => text.includes('cannot watch g in a table')));
    expect(await isPending(next)).toBe(true);
    const engine = await newEngine();
    await expect(engine.join(directory, 'g')).rejects.toMatchObject(failed);
    Object.assign(store, up);
    entries.set('c', { id: 'c', address: 'y', ttl: 1000 });
    expect((await settle(next)).value?.map(({ id }: { id: string }) => id)).toContain('c');
    await engine.join(directory, 'g'); // the one that failed has left nothing
  });
});

describe('a signal', () => {
  test('ends join() and watch() at each moment, with its reason', async () => {
    const reason = new Error('enough');
    const engine = await newEngine();
    const { directory, entries, store } = inStore();
    const aborted = { signal: AbortSignal.abort(reason) };
    await expect(engine.join(directory, 'g', aborted)).rejects.toBe(reason);
    expect(() => directory.watch('g', aborted)).toThrow(reason);
    expect(store.put).not.toHaveBeenCalled();
    for (const call of ['put', 'list'] as const) {
      const before = store[call];
      const controller = new AbortController();
      store[call] = (async () => {
        controller.abort(reason);
        await new Promise(setImmediate);
        return [];
      }) as never;
      await expect(engine.join(directory, 'g', { signal: controller.signal })).rejects.toBe(reason);
      store[call] = before as never;
    }
    const controller = new AbortController();
    const watch = directory.watch('g', { signal: controller.signal });
    await settle(watch.next());
    const next = watch.next();
    controller.abort(reason);
    await expect(next).rejects.toBe(reason);
    await until(() => entries.size === 0);
    expect(directory.watches).toBe(0);
    await engine.join(directory, 'g');
  });
});
