// Members that send before the lists of others have them.
import { type JoinOptions, TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../support/lifecycle.js';
import { MemoryDirectory } from '../support/memory-directory.js';
import { settle } from '../support/settle.js';

const tcp = { provider: 'tcp', node: '127.0.0.1' };

/** A directory whose watches report only the entries that are there at first. */
class LateDirectory extends MemoryDirectory {
  override async *watch(_: string, { signal }: { signal?: AbortSignal } = {}) {
    yield [...this.entries.values()];
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
  }
}

async function newEngine() {
  const engine = await TransferEngine.open(tcp);
  onTestFinished(() => engine.close());
  return engine;
}

async function joined(options: JoinOptions = {}) {
  const directory = new LateDirectory();
  const [server, client] = [await newEngine(), await newEngine()];
  const membership = await server.join(directory, 'group', options);
  await client.join(directory, 'group', options);
  const toServer = await client.peer(server.address);
  return { directory, server, client, membership, toServer };
}

async function received(engine: TransferEngine, count: number) {
  const notifications = engine.notifications();
  const all = [];
  for (let i = 0; i < count; i++) all.push((await settle(notifications.next())).value);
  return all.map(({ bytes, from, id }) => ({ text: Buffer.from(bytes).toString(), from, id }));
}

describe('a member that sends at once', () => {
  test('is known, and its messages come in order', async () => {
    const { server, client, membership, toServer } = await joined();
    expect(membership.peers.size).toBe(0);
    const texts = Array.from({ length: 200 }, (_, i) => String(i));
    const sent: Promise<void>[] = [];
    for (const text of texts) {
      sent.push(toServer.notify(Buffer.from(text)));
      if (Number(text) % 20 === 0) await new Promise(setImmediate);
    }
    const all = await received(server, texts.length);
    expect(all.map(({ text }) => text)).toEqual(texts);
    const peer = membership.peers.get(client.id);
    expect(peer).toBeDefined();
    for (const { from, id } of all) expect([from, id]).toEqual([peer, client.id]);
    await Promise.all(sent);
    const events = membership.events();
    expect((await settle(events.next())).value).toEqual({ type: 'joined', peer });
  });

  test('joins before its messages pass', async () => {
    for (let round = 0; round < 5; round++) {
      const { server, membership, toServer } = await joined();
      const seen: string[] = [];
      const watch = async (name: string, items: AsyncIterator<unknown>) => {
        await items.next();
        seen.push(name);
      };
      const both = [
        watch('message', server.notifications()),
        watch('joined', membership.events()),
        toServer.notify(Buffer.from('x')),
      ];
      await settle(Promise.all(both));
      expect(seen).toEqual(['joined', 'message']);
    }
  });

  test('can be answered, and takes part in a barrier', async () => {
    const { server, client, toServer } = await joined();
    const barrier = client.group([toServer]).barrier();
    await toServer.notify(Buffer.from('question'));
    const [{ from } = { from: undefined }] = await received(server, 1);
    await from?.notify(Buffer.from('answer'));
    expect((await received(client, 1))[0]).toMatchObject({ text: 'answer', from: toServer });
    await Promise.all([barrier, from && server.group([from]).barrier()]);
  });

  test('stays for one lease if the watch does not report it', async () => {
    const { server, client, membership, toServer } = await joined({ ttl: 400 });
    await toServer.notify(Buffer.from('x'));
    await received(server, 1);
    expect([...membership.peers.keys()]).toEqual([client.id]);
    await until(() => membership.peers.size === 0);
  });

  test('is known after each renewal, also if it was a stranger before', async () => {
    const { directory, server, client, toServer } = await joined();
    directory.delete(client.id);
    const first = toServer.notify(Buffer.from('1'));
    expect((await received(server, 1))[0]).toMatchObject({ text: '1', from: undefined });
    await first;
    directory.set({ id: client.id, address: client.address });
    let from: unknown;
    while (from === undefined) {
      await toServer.notify(Buffer.from('2'));
      from = (await received(server, 1))[0]?.from?.id;
    }
    expect(from).toBe(client.id);
  });
});

describe('a stranger', () => {
  test('is one, whether the directory answers or not', async () => {
    const { directory, server } = await joined();
    const lookups = [
      async () => [...directory.entries.values()],
      () => Promise.reject(new Error('away')),
      () => {
        throw new Error('away');
      },
      async (id: string) => [{ id, address: 'malformed' }, null] as never,
    ];
    for (const [i, lookup] of lookups.entries()) {
      const stranger = await newEngine();
      const toServer = await stranger.peer(server.address);
      directory.lookup = () => lookup(stranger.id) as never;
      await toServer.notify(Buffer.from(String(i)));
      expect((await received(server, 1))[0]).toMatchObject({ text: String(i), from: undefined });
    }
  });

  test('waits two seconds for a directory that does not answer, also while others wait', async () => {
    const { directory, server } = await joined();
    const senders = [await newEngine(), await newEngine()];
    const [first, second] = await Promise.all(senders.map((each) => each.peer(server.address)));
    const began = performance.now();
    let asked = 0;
    const asking = new Promise<void>((resolve) => {
      directory.lookup = () => {
        asked += 1;
        resolve();
        return new Promise(() => {});
      };
    });
    const sent = [first?.notify(Buffer.from('1'))];
    await asking;
    sent.push(second?.notify(Buffer.from('2')));
    await received(server, 2);
    expect(performance.now() - began).toBeGreaterThan(1900);
    expect(asked).toBe(1); // the second message has not waited for a question of its own
    await Promise.all(sent);
  });

  test('makes a directory answer few questions', async () => {
    const { directory, server } = await joined();
    const stranger = await newEngine();
    const toServer = await stranger.peer(server.address);
    let asked = 0;
    directory.lookup = async () => {
      asked += 1;
      await new Promise(setImmediate);
      return [];
    };
    const began = performance.now();
    for (let i = 0; i < 50; i++) {
      void toServer.notify(Buffer.alloc(1000));
      await new Promise(setImmediate);
    }
    await received(server, 50);
    expect(asked).toBeLessThanOrEqual(1 + (performance.now() - began) / 500);
  });
});
