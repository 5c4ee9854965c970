// Members that call barrier() before others know them.
import { TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../support/lifecycle.js';
import { MemoryDirectory } from '../support/memory-directory.js';

describe.each(['shm', 'tcp'])('%s', (provider) => {
  const newEngine = async () => {
    const local = provider === 'tcp' ? { node: '127.0.0.1' } : {};
    const engine = await TransferEngine.open({ provider, ...local });
    onTestFinished(() => engine.close());
    return engine;
  };

  test('a barrier passes whose member was no peer when its message came', async () => {
    const [a, b] = [await newEngine(), await newEngine()];
    const toA = await b.peer(a.address);
    const first = b.group([toA]).barrier();
    await toA.notify(Buffer.alloc(1)); // it comes after the barrier's message, which is of an earlier turn
    await a.notifications().next();
    const toB = await a.peer(b.address);
    const group = a.group([toB]);
    await Promise.all([first, group.barrier()]);
    await Promise.all([group.barrier(), b.group([toA]).barrier()]);
  });

  test('a peer that was closed and met again is where the others are', async () => {
    const [a, b] = [await newEngine(), await newEngine()];
    const toA = await b.peer(a.address);
    const toB = await a.peer(b.address);
    await expect(a.group([toB]).barrier({ timeout: 1 })).rejects.toThrow();
    await expect(a.group([toB]).barrier({ timeout: 1 })).rejects.toThrow();
    await toB.close();
    const waits = b.group([toA]).barrier();
    const again = await a.peer(b.address);
    const group = a.group([again]);
    for (let i = 0; i < 3; i++) {
      await Promise.all([i === 0 ? waits : b.group([toA]).barrier(), group.barrier()]);
    }
  });

  test('members of a directory pass the barrier that they call when they see each other', async () => {
    const directory = new MemoryDirectory();
    const member = async () => {
      const engine = await newEngine();
      const { peers } = await engine.join(directory, 'group');
      await until(() => peers.size === 2);
      const group = engine.group([...peers.values()]);
      await group.barrier();
      await group.barrier();
    };
    await Promise.all([member(), member(), member()]);
  });
});
