// One signal for many transfers and waits, and signals of other realms.
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { FolderDirectory } from 'libfabric/directory';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { foreignController, listenersOf } from '../support/signals.js';
import '../support/softefa.js';

const providers = casesOf(['shm', 'tcp', 'efa'], (provider) => provider !== 'efa');

describe.each(providers)('%s', (provider) => {
  async function sides() {
    const { a, b, toA, toB } = await enginePair({ provider, nics: 1, maxTransfers: 4 });
    const from = await a.allocate(1 << 20);
    const into = await b.allocate(1 << 20);
    const { token } = await into.offer({ access: 'write', to: toA, repeat: true });
    const group = a.group([toB]);
    const calls = (signal: AbortSignal) => [
      ...Array.from({ length: 20 }, () => toB.write(from, token, { signal }).then(() => 'done')),
      ...Array.from({ length: 20 }, () => group.barrier({ signal })),
      ...Array.from({ length: 20 }, () => group.scatter([{ from, token }], { signal })),
    ];
    return { a, calls };
  }

  test('transfers and waits that a signal may end share one listener, which goes with the last of them', async () => {
    const { a, calls } = await sides();
    const { signal } = new AbortController();
    const ends = Promise.allSettled(calls(signal));
    expect(listenersOf(signal)).toBe(1);
    await a.close();
    await ends;
    expect(listenersOf(signal)).toBe(0);
  });

  test.each([
    ['this', () => new AbortController()],
    ['another', foreignController],
  ])('a signal of %s realm ends all of them with its reason', async (_, controller) => {
    const { calls } = await sides();
    const aborting = controller();
    const ends = Promise.allSettled(calls(aborting.signal));
    const reason = new Error('enough');
    aborting.abort(reason);
    for (const end of await ends) expect(end).toEqual({ status: 'rejected', reason });
    expect(() => calls(aborting.signal)).toThrow(reason);
  });

  test('a transfer that is aborted at once sends nothing, nor one that waits for its turn, and the token stays valid', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics: 1, maxTransfers: 2 });
    const [from, into] = [await a.allocate(4096), await b.allocate(4096)];
    from.bytes.fill(1);
    const all = [];
    for (let i = 0; i < 50; i++) {
      const offer = await into.offer({ access: 'write', to: toA });
      const controller = new AbortController();
      const options = { signal: controller.signal, notification: Buffer.from('late') };
      const writes = [1, 2, 3].map(() => toB.write(from, offer.token, options));
      controller.abort();
      const ends = await Promise.allSettled(writes);
      expect(ends.map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
      await Promise.all(writes.map(({ released }) => released));
      all.push(offer);
    }
    expect(a.stats().transfers).toMatchObject({ running: 0, waiting: 0 });
    for (const { token } of all.slice(1)) await toB.write(from, token);
    expect(Buffer.from(into.bytes).equals(Buffer.alloc(4096, 1))).toBe(true);
    for (const { arrived } of all.slice(1)) expect((await arrived).notification).toBeUndefined();
    into.bytes.fill(0);
    await all[0]?.close();
    expect(Buffer.from(into.bytes).equals(Buffer.alloc(4096))).toBe(true);
  });

  test('no call leaves a listener when it has ended, whoever has ended it', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics: 1 });
    const memory = await a.allocate(4096);
    const theirs = await b.allocate(4096);
    const tokenTo = async (access: 'read' | 'write') =>
      (await theirs.offer({ access, to: toA })).token;
    const incoming = (signal?: AbortSignal) => b.incoming({ from: toA, ...(signal && { signal }) });
    const outgoing = (signal?: AbortSignal) => b.outgoing({ to: toA, ...(signal && { signal }) });
    const directory = new FolderDirectory(await mkdtemp(join(tmpdir(), 'signals-')));
    const pool = a.pool({ size: 4096, count: 1 });
    const calls: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
      write: async (signal) => toB.write(memory, await tokenTo('write'), { signal }),
      read: async (signal) => toB.read(await tokenTo('read'), memory, { signal }),
      upload: async (signal) => {
        const stream = incoming();
        await Promise.all([toB.upload([Buffer.of(1)], stream.token, { signal }), buffer(stream)]);
      },
      'upload to memory': async (signal) =>
        toB.upload([Buffer.of(1)], await tokenTo('write'), { signal }),
      download: async (signal) => {
        const stream = outgoing();
        stream.end('1');
        await buffer(toB.download(stream.token, { signal }));
      },
      'download of memory': async (signal) =>
        buffer(toB.download(await tokenTo('read'), { signal })),
      'download that is left': async (signal) => {
        for await (const _ of toB.download(await tokenTo('read'), { signal })) break;
      },
      'writable that is destroyed': async (signal) => {
        const stream = toB.writable(await tokenTo('write'), { signal }).destroy();
        await once(stream, 'close');
      },
      incoming: async (signal) => {
        const stream = incoming(signal);
        await Promise.all([toB.upload([Buffer.of(1)], stream.token), buffer(stream)]);
      },
      'outgoing that is destroyed': async (signal) => {
        await once(outgoing(signal).destroy(), 'close');
      },
      barrier: (signal) =>
        Promise.all([a.group([toB]).barrier({ signal }), b.group([toA]).barrier({ signal })]),
      acquire: async (signal) => (await pool.acquire(1, { signal })).release(),
      'watch that is left': async (signal) => {
        for await (const _ of directory.watch('group', { signal })) break;
      },
      'watch that is returned': (signal) => directory.watch('group', { signal }).return(),
      'watch that is returned while it waits': async (signal) => {
        const watch = directory.watch('group', { signal });
        await watch.next();
        await Promise.all([watch.next(), watch.return()]);
      },
      join: async (signal) => (await a.join(directory, 'group', { signal })).leave(),
    };
    for (const [name, call] of Object.entries(calls)) {
      const { signal } = new AbortController();
      await call(signal);
      await expect.poll(() => listenersOf(signal), { message: name }).toBe(0);
    }
    const { signal } = new AbortController();
    const watch = directory.watch('group', { signal });
    await directory.close();
    await watch.next();
    expect(listenersOf(signal)).toBe(0);
  });

  test('a signal that is already aborted: promises reject, all else throws, and nothing begins', async () => {
    const { a, b, toA, toB } = await enginePair({ provider, nics: 1 });
    const memory = await a.allocate(4096);
    const theirs = await b.allocate(4096);
    const { token: write } = await theirs.offer({ access: 'write', to: toA });
    const { token: read } = await theirs.offer({ access: 'read', to: toA });
    const directory = new FolderDirectory(await mkdtemp(join(tmpdir(), 'signals-')));
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    const throwing: (() => unknown)[] = [
      () => toB.write(memory, write, { signal }),
      () => toB.read(read, memory, { signal }),
      () => toB.writable(write, { signal }),
      () => toB.download(read, { signal }),
      () => b.incoming({ from: toA, signal }),
      () => b.outgoing({ to: toA, signal }),
      () => directory.watch('group', { signal }),
    ];
    for (const call of throwing) expect(call).toThrow(reason);
    const rejecting: (() => Promise<unknown>)[] = [
      () => toB.upload([Buffer.of(1)], write, { signal }),
      () => a.group([toB]).scatter([{ from: memory, token: write }], { signal }),
      () => a.group([toB]).barrier({ signal }),
      () => a.pool({ size: 4096, count: 1 }).acquire(1, { signal }),
      () => a.join(directory, 'group', { signal }),
    ];
    for (const call of rejecting) await expect(call()).rejects.toBe(reason);
    expect(a.stats().transfers).toMatchObject({ running: 0, waiting: 0, failed: 0 });
    await Promise.all([toB.write(memory, write), toB.read(read, memory)]); // the tokens are unused
    await directory.close();
  });
});
