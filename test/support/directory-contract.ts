// What every directory does.
import { once } from 'node:events';
import type { DirectoryEntry } from 'libfabric/directory';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { open, publisher, type Service } from './directories.js';
import { settle } from './settle.js';
import { warningsFromNow } from './warnings.js';

/** Reads snapshots until one has these ids. Returns it. */
export async function untilHas(
  watch: AsyncIterator<readonly DirectoryEntry[]>,
  ids: readonly string[],
): Promise<readonly DirectoryEntry[]> {
  for (;;) {
    const { value, done } = await settle(watch.next());
    if (done) throw new Error('the watch has ended');
    if (value.map(({ id }: DirectoryEntry) => id).join() === ids.join()) return value;
  }
}

let groups = 0;

/** @param ttl a lease that the service can have. */
export function contract(kind: string, ttl: number, start: () => Promise<Service | undefined>) {
  describe(kind, () => {
    // A pod publishes by itself, and nobody can ask one that has ended.
    const isLocal = kind === 'kubernetes';
    let started: Service | undefined;
    beforeAll(async () => {
      started = await start();
    });
    afterAll(() => started?.stop());

    const prepared = (context: TestContext) => {
      if (started === undefined) return context.skip(`needs ${kind}`);
      const { making } = started;
      return {
        service: started,
        making,
        group: `group-${++groups}`,
        at: (host: number) => open(making(host)),
      };
    };
    const entryOf = (id: string) => ({ id, address: `address of ${id}` });

    test('an entry is seen by others until it is withdrawn, and groups are apart', async (context) => {
      const { at, group } = prepared(context);
      const [a, b] = [at(1), at(2)];
      const [watch, other] = [b.watch(group), b.watch(`${group}-b`)];
      expect(await untilHas(watch, [])).toEqual([]);
      expect(await untilHas(other, [])).toEqual([]);
      const [one, two] = [entryOf('one'), entryOf('two')];
      await a.publish(group, one);
      expect(await b.lookup(group)).toEqual([one]);
      expect(await untilHas(watch, ['one'])).toEqual([one]);
      await b.publish(group, two);
      expect(await untilHas(watch, ['one', 'two'])).toEqual([one, two]);
      expect(await a.lookup(`${group}-b`)).toEqual([]);
      await b.withdraw(group, 'one'); // only the object that has published an entry withdraws it
      await a.publish(group, { id: 'one', address: 'another' });
      while ((await settle(watch.next())).value?.[0]?.address !== 'another') {}
      await a.withdraw(group, 'one');
      expect(await untilHas(watch, ['two'])).toEqual([two]);
      await b.close();
      expect(await watch.next()).toEqual({ value: undefined, done: true });
      if (!isLocal) expect(await a.lookup(group)).toEqual([]);
    });

    test('a writer whose entry another one has replaced neither removes nor renews it', async (context) => {
      const { at, group } = prepared(context);
      const [old, now, other] = [at(1), at(2), at(3)];
      const entry = { id: 'one', address: 'new' };
      // The same address, too: that of a program that was started again.
      for (const address of ['old', 'new']) {
        await old.publish(group, { id: 'one', address }, { ttl });
        await now.publish(group, entry, { ttl });
        await old.withdraw(group, 'one');
        expect(await other.lookup(group)).toEqual([entry]);
        await now.withdraw(group, 'one');
      }
      if (isLocal) return; // each pod has its own entries
      await old.publish(group, { id: 'one', address: 'old' }, { ttl });
      await now.publish(group, entry, { ttl });
      const seen = new Set<string>();
      for (const until = performance.now() + ttl; performance.now() < until; ) {
        for (const { address } of await other.lookup(group)) seen.add(address);
        await new Promise((resolve) => setTimeout(resolve, ttl / 20));
      }
      expect([...seen]).toEqual(['new']);
      await now.withdraw(group, 'one');
      await new Promise((resolve) => setTimeout(resolve, ttl / 2));
      expect(await other.lookup(group)).toEqual([]);
    });

    test('the entry of a killed process ends with its lease', async (context) => {
      const { at, making, group } = prepared(context);
      const watch = at(1).watch(group);
      const child = await publisher(making(2), group, 'dying', ttl);
      await untilHas(watch, ['dying']);
      const began = performance.now();
      child.kill('SIGKILL');
      await untilHas(watch, []);
      const elapsed = performance.now() - began;
      expect(elapsed).toBeGreaterThan(ttl / 2);
      expect(elapsed).toBeLessThan(ttl + 4000);
    });

    test('a process that has an entry and a watch ends by itself', async (context) => {
      const { making, group } = prepared(context);
      const child = await publisher(making(1), group, 'ending', ttl);
      const exit = once(child, 'exit');
      child.stdin?.end();
      expect(await settle(exit)).toEqual([0, null]);
    });

    test('an outage removes nobody, and afterwards the changes are seen', async (context) => {
      const { service, at, making, group } = prepared(context);
      const [a, b] = [at(1), at(2)];
      const watch = b.watch(group);
      await a.publish(group, entryOf('living'), { ttl });
      const child = await publisher(making(3), group, 'dying', ttl);
      await untilHas(watch, ['dying', 'living']);

      await service.fail();
      child.kill('SIGKILL');
      await expect(b.lookup(group)).rejects.toMatchObject({
        name: 'FabricError',
        syscall: 'lookup',
      });
      if (!isLocal) {
        await expect(b.publish(group, entryOf('none'), { ttl })).rejects.toThrow(/, publish \(/);
      }
      await new Promise((resolve) => setTimeout(resolve, 1.5 * ttl)); // all leases end
      await service.restore();
      await b.publish(group, entryOf('new'), { ttl });
      const seen: string[] = [];
      for (;;) {
        const { value } = await settle(watch.next());
        const ids = (value as DirectoryEntry[]).map(({ id }) => id).join();
        seen.push(ids);
        if (ids === 'living,new') break;
      }
      expect(seen).toEqual(['dying,living,new', 'living,new']);
      expect((await a.lookup(group)).map(({ id }) => id)).toEqual(['living', 'new']);
    });

    test('a watch that is aborted or left frees what it has', async (context) => {
      const { at, group } = prepared(context);
      const directory = at(1);
      const controller = new AbortController();
      const watch = directory.watch(group, { signal: controller.signal });
      await settle(watch.next());
      const next = expect(watch.next()).rejects.toThrow('enough');
      controller.abort(new Error('enough'));
      await next;
      expect(() => directory.watch(group, { signal: controller.signal })).toThrow('enough');
      for await (const entries of directory.watch(group)) {
        expect(entries).toEqual([]);
        break;
      }
      const thrown = async () => {
        for await (const _ of directory.watch(group)) throw new Error('of the program');
      };
      await expect(thrown()).rejects.toThrow('of the program');
      expect(directory.watches).toBe(0);
    });

    test('what is no entry is ignored, with one warning', async (context) => {
      const { service, at, group } = prepared(context);
      const [a, b] = [at(1), at(2)];
      const warnings = warningsFromNow();
      const wrong = {
        huge: JSON.stringify({ address: 'x'.repeat(2 ** 20), ttl: 1000 }),
        long: JSON.stringify({ address: 'x'.repeat(65_537), ttl: 1000 }),
        prototype: `{"__proto__":{"address":"x","ttl":1000}}`,
        endless: '{"address":"x","ttl":1e300}',
        never: '{"address":"x","ttl":null}',
        number: '{"address":7,"ttl":1000}',
        array: '[]',
        null: 'null',
        text: '\0',
        nothing: '',
      };
      await service.write(group, wrong);
      await a.publish(group, entryOf('good'), { ttl });
      const watch = b.watch(group);
      expect(await untilHas(watch, ['good'])).toEqual([entryOf('good')]);
      for (let i = 0; i < 3; i++) expect(await b.lookup(group)).toEqual([entryOf('good')]);
      await new Promise(setImmediate);
      const count = Object.keys(wrong).length;
      const own = warnings.filter((text) => / malformed .*, which is ignored: /.test(text));
      expect(own.length).toBe(count);
      expect(Math.max(...own.map(({ length }) => length))).toBeLessThan(400);
    });

    const hasLongGroups = async (context: TestContext) => {
      const { service, at, group } = prepared(context);
      const ids = Array.from({ length: 1100 }, (_, i) => `member-${i}`).sort();
      const address = 'x'.repeat(64_000);
      const record = JSON.stringify({ address, ttl: 600_000 });
      await service.write(group, Object.fromEntries(ids.map((id) => [id, record])));
      const found = await at(1).lookup(group);
      expect(found.map(({ id }) => id)).toEqual(ids);
      expect(found.every((entry) => entry.address === address)).toBe(true);
    };
    // Each pod serves its own entries only.
    if (!isLocal) test('a group may have more than 64 MiB of entries', hasLongGroups);

    test('wrong arguments are refused', async (context) => {
      const { at, group } = prepared(context);
      const directory = at(1);
      const value = { code: 'ERR_INVALID_ARG_VALUE' };
      for (const name of ['', '../x', '.', 'a/b', 'x'.repeat(201), '{a}']) {
        await expect(directory.lookup(name)).rejects.toMatchObject(value);
        await expect(directory.publish(group, entryOf(name))).rejects.toMatchObject(value);
      }
      await expect(directory.publish(group, entryOf('a'), { ttl: 1 })).rejects.toMatchObject({
        code: 'ERR_OUT_OF_RANGE',
      });
      await expect(
        directory.publish(group, { id: 'a', address: 1 as never }),
      ).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
      await expect(
        directory.publish(group, { id: 'a', address: 'x'.repeat(65_537) }),
      ).rejects.toMatchObject(value);
      await directory.withdraw(group, 'none');
      await directory.close();
      const closed = { code: 'ERR_CLOSED' };
      await expect(directory.lookup(group)).rejects.toMatchObject(closed);
      await expect(directory.publish(group, entryOf('a'))).rejects.toMatchObject(closed);
      await expect(directory.withdraw(group, 'a')).rejects.toMatchObject(closed);
      expect(() => directory.watch(group)).toThrow('closed');
    });
  });
}
