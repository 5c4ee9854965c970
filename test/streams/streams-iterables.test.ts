// Each iterable of values does what an async generator does with the same reader. Those of bytes are in streams-contract.
import '../support/softefa.js';
import { once } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type DirectoryStore,
  FolderDirectory,
  StoredDirectory,
  type StoredEntry,
} from 'libfabric/directory';
import { TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { folderService } from '../support/directories.js';
import { MemoryDirectory } from '../support/memory-directory.js';
import { serve, TCP } from '../support/object-stores.js';
import { settle } from '../support/settle.js';

/** An iterable, and what brings its values. */
interface Source {
  open(): AsyncIterable<unknown>;
  /** Brings the value of this number. Values before it were read. */
  bring(number: number): Promise<void> | void;
  /** What a value is, as text. */
  textOf(value: unknown): string;
}

const VALUES = ['0', '1', '2', '3'];

// The reference.
function generator(): Source {
  async function* values() {
    for (const value of VALUES) yield value;
  }
  return { open: values, bring: () => {}, textOf: String };
}

/** The i-th value has i entries. */
const ofEntries = (value: unknown) => String((value as unknown[]).length);

const SOURCES: Record<string, () => Promise<Source>> = {
  async 'list() of objects'() {
    const { connect } = await serve(undefined);
    const client = await connect();
    for (const key of VALUES) await client.put(key, Buffer.alloc(1));
    return {
      open: () => client.list(),
      bring: () => {},
      textOf: (value) => (value as { key: string }).key,
    };
  },
  async 'watch() of a folder'() {
    const service = await folderService();
    onTestFinished(() => service.stop());
    const { folder = '' } = service.making(1);
    let group = 'group';
    const directory = new FolderDirectory(folder, { interval: 20 });
    onTestFinished(() => directory.close());
    return {
      open: () => {
        group += 'x';
        return directory.watch(group);
      },
      bring: async (number) => {
        if (number > 0) await directory.publish(group, { id: `e${number}`, address: 'x' });
      },
      textOf: ofEntries,
    };
  },
  async 'watch() of a StoredDirectory'() {
    let entries: StoredEntry[] = [];
    const changes = new Set<() => void>();
    const store: DirectoryStore = {
      name: 'memory',
      put: async () => {},
      remove: async () => {},
      list: async () => entries,
      follow: (_group, changed, signal) => {
        changes.add(changed);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
      close: () => {},
    };
    const directory = new StoredDirectory(store, { interval: 60_000 });
    onTestFinished(() => directory.close());
    return {
      open: () => {
        entries = [];
        return directory.watch('group');
      },
      bring: (number) => {
        if (number > 0) entries = [...entries, { id: `e${number}`, address: 'x', ttl: 60_000 }];
        for (const change of changes) change();
      },
      textOf: ofEntries,
    };
  },
  async 'events() of a membership'() {
    const engines = [await TransferEngine.open(TCP), await TransferEngine.open(TCP)] as const;
    onTestFinished(async () => void (await Promise.all(engines.map((engine) => engine.close()))));
    const directory = new MemoryDirectory();
    const membership = await engines[0].join(directory, 'group');
    const { id, address } = engines[1];
    let count = 0;
    return {
      open: () => {
        directory.delete(id);
        count = 0;
        return membership.events();
      },
      bring: (number) => (number % 2 === 0 ? directory.set({ id, address }) : directory.delete(id)),
      textOf: (value) => {
        const { type } = value as { type: string };
        expect(type).toBe(count % 2 === 0 ? 'joined' : 'lost');
        return String(count++);
      },
    };
  },
};

const iterator = ({ open }: Source) => open()[Symbol.asyncIterator]();

/** What each way of reading sees. */
const READERS: Record<string, (source: Source) => Promise<unknown[]>> = {
  async 'next() in turn, then return()'(source) {
    const values = iterator(source);
    const seen: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      await source.bring(i);
      const { value, done } = await values.next();
      seen.push(source.textOf(value), done);
    }
    for (let i = 0; i < 2; i++) seen.push(await values.return?.(), await values.next());
    return seen;
  },
  async 'calls of next() that overlap'(source) {
    const values = iterator(source);
    const calls = [values.next(), values.next(), values.next()];
    const seen: unknown[] = [];
    for (const [i, call] of calls.entries()) {
      await source.bring(i);
      seen.push(source.textOf((await call).value));
    }
    await values.return?.();
    return seen;
  },
  async 'return() before next()'(source) {
    const values = iterator(source);
    return [await values.return?.(), await values.next()];
  },
  async 'a loop that is left'(source) {
    const values = source.open();
    const seen: unknown[] = [];
    await source.bring(0);
    for await (const value of values) {
      seen.push(source.textOf(value));
      if (seen.length === 2) break;
      await source.bring(1);
    }
    for await (const value of values) seen.push(value);
    return seen;
  },
  async 'a loop that throws'(source) {
    const values = source.open();
    await source.bring(0);
    const loop = async () => {
      for await (const _ of values) throw new Error('of the loop');
    };
    const error = await loop().catch(({ message }) => message);
    return [error, await values[Symbol.asyncIterator]().next()];
  },
  async 'Readable.from(), destroyed'(source) {
    const readable = Readable.from(source.open());
    const seen: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      await source.bring(i);
      readable.resume();
      const [value] = await once(readable, 'data');
      readable.pause();
      seen.push(source.textOf(value));
    }
    readable.destroy();
    await once(readable, 'close');
    return [...seen, readable.errored];
  },
  async 'a pipeline that is aborted'(source) {
    const through = new PassThrough({ objectMode: true, highWaterMark: 1 });
    const controller = new AbortController();
    const { signal } = controller;
    const piped = pipeline(source.open(), through, { signal }).catch(({ code }) => code);
    const seen: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      await source.bring(i);
      through.resume();
      const [value] = await once(through, 'data');
      through.pause();
      seen.push(source.textOf(value));
    }
    controller.abort();
    await source.bring(2); // Node.js waits for the pending call of next()
    return [...seen, await piped];
  },
};

describe.each(Object.keys(SOURCES))('%s', (name) => {
  test.each(Object.keys(READERS))('%s', async (how) => {
    const read = READERS[how] as (typeof READERS)[string];
    const expected = await settle(read(generator()));
    const source = await (SOURCES[name] as (typeof SOURCES)[string])();
    expect(await settle(read(source))).toEqual(expected);
  });
});
