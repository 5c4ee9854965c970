// Registrations and allocations that close() of their domain or their transfer engine overtakes.
import { type Domain, open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';
import { expect, test } from 'vitest';
import { settle } from '../support/settle.js';

const ACCESS = ['FI_READ'] as const;
const SIZE = 1 << 20;
const TCP = { provider: 'tcp', node: '127.0.0.1' };

interface Memories {
  readonly calls: (() => Promise<unknown>)[];
  close(): Promise<void>;
}

const ofDomain = (domain: Domain) => [
  () => domain.register(new Uint8Array(SIZE), ACCESS),
  () => domain.allocate(SIZE, ACCESS),
];

const owners: Record<string, () => Promise<Memories>> = {
  'a domain': async () => {
    const { domain } = await open({ ...TCP, caps: ['FI_MSG', 'FI_RMA'] });
    return { calls: ofDomain(domain), close: () => domain.close() };
  },
  'an endpoint': async () => {
    const endpoint = await open({ ...TCP, caps: ['FI_MSG', 'FI_RMA'] });
    return { calls: ofDomain(endpoint.domain), close: () => endpoint.close() };
  },
  'a transfer engine': async () => {
    const engine = await TransferEngine.open({ ...TCP, nics: 2 });
    return {
      calls: [() => engine.register(new Uint8Array(SIZE)), () => engine.allocate(SIZE)],
      close: () => engine.close(),
    };
  },
};

const moments: Record<string, () => unknown> = {
  'at once': () => undefined,
  'a microtask later': () => null,
  'a turn later': () => new Promise(setImmediate),
};

test.each(Object.entries(owners))('%s that closes: ERR_CLOSED', async (_, make) => {
  const ended = new Set<string>();
  for (const [moment, wait] of Object.entries(moments)) {
    for (let round = 0; round < 5; round++) {
      const { calls, close } = await make();
      const made = [...calls, ...calls].map((call) => call());
      const waited = wait();
      if (waited !== undefined) await waited;
      const closing = close();
      for (const end of await settle(Promise.allSettled(made))) {
        if (end.status === 'fulfilled') continue;
        ended.add(end.reason.code);
        expect(end.reason, moment).toMatchObject({ code: 'ERR_CLOSED' });
      }
      await closing;
    }
  }
  expect([...ended]).toEqual(['ERR_CLOSED']); // some were overtaken
});
