// The addon closes an object that it has opened but cannot return. A setter that throws simulates any failure
// in JavaScript after the provider has opened its object, such as the end of a worker.
import { readdirSync, readFileSync } from 'node:fs';
import { dumpState, Fabric } from 'libfabric';
import { afterEach, expect, test } from 'vitest';
import { drivers } from '../support/providers.js';
import { closing, entryOf } from '../support/transfer.js';

const CAPS = ['FI_MSG', 'FI_RMA'] as const;

afterEach(() => {
  for (const name of ['control', 'handle', 'batch', 'key', 'buffers']) {
    Reflect.deleteProperty(Object.prototype, name);
  }
});

/** Makes every object without this property throw when the property is set. */
const refuse = (name: string) =>
  Object.defineProperty(Object.prototype, name, {
    configurable: true,
    set() {
      throw new Error(`refused: ${name}`);
    },
  });

async function refusing(name: string, call: () => unknown) {
  refuse(name);
  await expect((async () => call())()).rejects.toThrow(`refused: ${name}`);
  Reflect.deleteProperty(Object.prototype, name);
}

const threads = () =>
  readdirSync('/proc/self/task').filter((id) => {
    return readFileSync(`/proc/self/task/${id}/comm`, 'utf8') === 'libfabric\n';
  }).length;

test.each(drivers)(
  'tcp, %s driver: objects that could not be returned are closed',
  async (driver) => {
    const info = entryOf('tcp;ofi_rxm', CAPS);
    const fabric = closing(Fabric.open(info));
    const before = threads();
    await refusing('control', () => fabric.domain(info, { driver }));
    expect(threads()).toBe(before);

    const domain = fabric.domain(info, { driver });
    const av = domain.addressVector();
    await refusing('handle', () => domain.completionQueue());
    const cq = domain.completionQueue();
    await refusing('handle', () => domain.endpoint(info, { av, cq }));
    await refusing('key', () => domain.allocate(4096, ['FI_REMOTE_READ']));
    const ep = domain.endpoint(info, { av, cq });
    await refusing('batch', () => ep.batch());
    await refusing('buffers', () => ep.messages({ count: 4, size: 64 }).next());
    const state = () => dumpState().domains.find((each) => each.domain === info.domainAttr.name);
    expect(state()?.engine).toMatchObject({
      endpoints: [{}],
      completionQueues: [{}],
      memory: { regions: 0, buffers: 0 },
      batches: [],
    });
  },
);
