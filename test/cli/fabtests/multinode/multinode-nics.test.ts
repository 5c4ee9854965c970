import { FabricError } from 'libfabric';
import { loadSoftefa, SoftefaFaults } from 'libfabric/softefa';
import { afterEach, describe, expect, test } from 'vitest';
import { Flow, pump, Stalled } from '../../../../dist/cli/fabtests/common/flow.js';
import {
  chooseNics,
  closeNics,
  type Nic,
  nicOf,
  openNics,
} from '../../../../dist/cli/fabtests/common/nics.js';
import { ownNamespace } from '../../../support/own-namespace.js';

// Endpoints use the device instead of shared memory, also to themselves.
process.env.FI_EFA_ENABLE_SHM_TRANSFER = '0';

const namespace = ownNamespace('nics');
loadSoftefa({ nics: 3, namespace, memlock: 'unlimited' });

const CAPS = ['FI_MSG', 'FI_RMA'] as const;
const names = (...choice: Parameters<typeof chooseNics>) => chooseNics(...choice).map(nicOf);
const ALL = ['softefa_0', 'softefa_1', 'softefa_2'];

describe('chooseNics', () => {
  test('selects efa if there is a device, and one NIC', () => {
    const [info, ...others] = chooseNics({}, CAPS, 0);
    expect(info?.fabricAttr.provName).toBe('efa');
    expect(others).toEqual([]);
  });

  test('assigns NICs to the ranks of a host round-robin', () => {
    expect([0, 1, 2, 3].map((local) => names({}, CAPS, local)[0])).toEqual([...ALL, 'softefa_0']);
  });

  test('selects all NICs, the named ones in their order, or the NIC of a domain', () => {
    expect(names({ nics: 'all' }, CAPS, 1)).toEqual(ALL);
    expect(names({ nics: ['softefa_2', 'softefa_0-rdm'] }, CAPS, 1)).toEqual([
      'softefa_2',
      'softefa_0',
    ]);
    expect(names({ domain: 'softefa_1-rdm' }, CAPS, 0)).toEqual(['softefa_1']);
  });

  test('throws for an unknown NIC or provider, and names the known NICs', () => {
    expect(() => names({ nics: ['softefa_7'] }, CAPS, 0)).toThrow(
      `no NIC softefa_7; there are ${ALL.join(', ')}`,
    );
    expect(() => names({ provider: 'no-such-provider' }, CAPS, 0)).toThrow(FabricError);
    expect(() => names({ provider: 'efa', domain: 'eth9' }, CAPS, 0)).toThrow(
      'on efa, domain eth9',
    );
  });
});

const opened: Nic[] = [];

afterEach(async () => {
  await closeNics(opened.splice(0));
});

const SIZE = 4096;
const TIMES = 20;

/** Opens NICs. Returns for each a flow of writes to itself. */
async function flows(nics: 'all' | undefined, total?: number) {
  opened.push(...(await openNics(chooseNics({ ...(nics && { nics }) }, CAPS, 0))));
  return Promise.all(
    opened.map(async ({ domain, ep }, i) => {
      const out = await domain.allocate(SIZE, ['FI_WRITE']);
      const into = await domain.allocate(SIZE, ['FI_REMOTE_WRITE']);
      out.bytes.fill(i + 1);
      const batch = ep.batch();
      const peer = ep.av.insert(ep.address);
      for (let n = 0; n < 4; n++) batch.write(out, peer, domain.remote(into.descriptor()));
      return { flow: new Flow({ batch, depth: 2, ...(total && { total }) }), into };
    }),
  );
}

const options = { timeout: 10_000, yieldToEvents: () => new Promise<void>(setImmediate) };

describe.each([
  ['one NIC', undefined, 1],
  ['all NICs', 'all', 3],
] as const)('%s', (_, nics, count) => {
  test('each flow does exactly its number of writes', async () => {
    const running = await flows(nics, TIMES);
    expect(running.length).toBe(count);
    const start = await pump(
      opened,
      running.map(({ flow }) => flow),
      options,
    );
    for (const [i, { flow, into }] of running.entries()) {
      expect(flow.completed).toBe(TIMES);
      expect(flow.busy).toBe(false);
      expect(flow.last).toBeGreaterThan(start);
      expect(into.bytes.every((byte) => byte === i + 1)).toBe(true);
    }
    const writes = opened.map(({ domain }) => domain.stats());
    expect(writes.length).toBe(count);
  });

  test('the time limit ends all flows', async () => {
    const running = await flows(nics);
    const start = await pump(
      opened,
      running.map(({ flow }) => flow),
      { ...options, time: 50 },
    );
    for (const { flow } of running) {
      expect(flow.completed).toBeGreaterThan(0);
      expect(flow.busy).toBe(false);
      expect(flow.last - start).toBeGreaterThanOrEqual(50);
    }
  });

  test('a failure ends all flows with its reason', async () => {
    const running = await flows(nics, TIMES);
    const faults = new SoftefaFaults({ namespace });
    faults.add('status', { value: 9, count: 1 }); // the device fails one operation
    const failing = pump(
      opened,
      running.map(({ flow }) => flow),
      options,
    );
    await expect(failing).rejects.toThrow(FabricError);
    faults.close();
  });

  test('a receive without a message ends all flows at the timeout', async () => {
    await flows(nics, TIMES);
    const batch = (opened[0] as Nic).ep.batch();
    batch.recv(new Uint8Array(64));
    const stalled = pump(opened, [new Flow({ batch, depth: 1, total: 1 })], {
      ...options,
      timeout: 200,
    });
    await expect(stalled).rejects.toThrow(Stalled);
    await expect(stalled).rejects.toMatchObject({ flows: [0] });
  });
});
