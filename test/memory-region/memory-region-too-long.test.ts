// Memory that is longer than the longest Uint8Array is refused before anything is allocated or registered.
import '../support/softefa.js';
import { constants } from 'node:buffer';
import { type Domain, dumpState, type Endpoint, open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { combinations } from '../support/cases.js';
import { settle } from '../support/settle.js';

const TOO_LONG = constants.MAX_LENGTH + 1;
const REFUSED = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };

/** The registered memory of all domains of this process. */
function registered() {
  const engines = dumpState().domains.map(({ engine }) => engine!.memory);
  const regions = engines.reduce((sum, memory) => sum + memory.regions, 0);
  const bytes = engines.reduce((sum, memory) => sum + memory.registeredBytes, 0);
  return { regions, bytes };
}

type Opened = Endpoint<'FI_EP_RDM', 'FI_MSG'>;

async function opened(provider: string, driver: 'thread' | 'loop' | 'manual'): Promise<Opened> {
  const ep = await open({ provider, driver, ...(provider === 'tcp' && { node: '127.0.0.1' }) });
  onTestFinished(() => ep.close());
  return ep;
}

describe.each(combinations)('$provider, $driver driver', ({ provider, driver }) => {
  test('allocate() refuses a length beyond buffer.constants.MAX_LENGTH, and allocates nothing', async () => {
    const { domain } = await opened(provider, driver);
    const [before, rss] = [registered(), process.memoryUsage.rss()];
    for (const options of [{}, { shared: true }, { hugePages: true }]) {
      const allocating = domain.allocate(TOO_LONG, ['FI_SEND'], options);
      await expect(allocating).rejects.toMatchObject(REFUSED);
    }
    expect(registered()).toEqual(before);
    expect(process.memoryUsage.rss() - rss).toBeLessThan(1e9);
  });

  const failing: [name: string, (domain: Domain) => Promise<unknown>][] = [
    ['allocate()', (domain) => domain.allocate(1 << 20, ['FI_SEND'])],
    ['register()', (domain) => domain.register(new Uint8Array(1 << 20), ['FI_SEND'])],
  ];
  test.each(failing)(
    '%s deregisters the memory if no object can be made of it',
    async (_, make) => {
      const { domain } = await opened(provider, driver);
      await settle(
        make(domain).then((region) => (region as Disposable & { close(): Promise<void> }).close()),
        domain,
      );
      const before = registered();
      const cause = new Error('no memory for the object');
      const making = make(domain);
      const register = vi.spyOn(FinalizationRegistry.prototype, 'register');
      onTestFinished(() => register.mockRestore());
      register.mockImplementationOnce(() => {
        throw cause;
      });
      await expect(settle(making, domain)).rejects.toBe(cause);
      register.mockRestore();
      // The engine deregisters it in one of its next turns, before the operations that are begun later.
      for (let turns = 0; turns < 3; turns++) {
        const region = await settle(domain.allocate(64, ['FI_SEND']), domain);
        await settle(region.close(), domain);
      }
      expect(registered()).toEqual(before);
    },
  );
});

describe.each(['tcp', 'shm', 'efa'])('transfers over %s', (provider) => {
  test.each([true, false])(
    'allocate() of an engine refuses such a length (mapMemory: %s)',
    async (mapMemory) => {
      const engine = await TransferEngine.open({
        provider,
        mapMemory,
        ...(provider === 'tcp' && { node: '127.0.0.1' }),
      });
      onTestFinished(() => engine.close());
      const before = registered();
      await expect(engine.allocate(TOO_LONG)).rejects.toMatchObject(REFUSED);
      await expect(engine.allocate(TOO_LONG, { shared: true })).rejects.toMatchObject(REFUSED);
      expect(registered()).toEqual(before);
    },
  );
});

// Since V8 of Node 22, a Uint8Array can be as long as any buffer.
describe.skipIf(constants.MAX_LENGTH > 2 ** 33)('an ArrayBuffer that is longer', () => {
  const long = new ArrayBuffer(TOO_LONG); // of pages that are never accessed

  test('is refused by register(), also as a DataView', async () => {
    const { domain } = await opened('shm', 'thread');
    for (const buffer of [long, new DataView(long)]) {
      await expect(domain.register(buffer, ['FI_SEND'])).rejects.toMatchObject({
        ...REFUSED,
        message: `buffer must be at most ${constants.MAX_LENGTH} bytes, the buffer.constants.MAX_LENGTH, got ${TOO_LONG}`,
      });
    }
  });

  test('is refused by operations, even if they need a few bytes of it', async () => {
    const ep = await opened('shm', 'thread');
    const self = ep.av.insert(ep.address);
    const few = new Uint8Array(long, 4096, 4096);
    for (const buffer of [long, few]) {
      await expect(ep.send(buffer, self)).rejects.toMatchObject(REFUSED);
      await expect(ep.recv(buffer)).rejects.toMatchObject(REFUSED);
    }
    expect(ep.limits.engine.requests.pending).toBe(0);
  });

  test('is refused where bytes are read', async () => {
    const ep = await opened('shm', 'thread');
    expect(() => ep.av.insert(long)).toThrow(expect.objectContaining(REFUSED));
    expect(() => ep.domain.remote(long)).toThrow(expect.objectContaining(REFUSED));
  });
});
