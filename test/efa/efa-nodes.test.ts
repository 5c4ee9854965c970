// The efa provider between processes of one host and of two, over each of several devices, with and without
// shm.
import { SoftefaFaults } from 'libfabric/softefa';
import { describe, expect, test } from 'vitest';
import { casesOf, slow } from '../support/cases.js';
import { portCounter, startPair, transferAll, upToDate } from '../support/process-pair.js';
import { namespace } from '../support/softefa.js';

const NICS = [0, 1, 2, 3];

const PLACES = [
  { nodes: [0, 1], shm: '0' },
  { nodes: [0, 1], shm: '1' },
  { nodes: [0, 0], shm: '0' },
] as const;
const places = slow ? PLACES : PLACES.slice(0, 1);

describe.each(places)('efa, nodes $nodes, FI_EFA_ENABLE_SHM_TRANSFER=$shm', ({ nodes, shm }) => {
  test.for(casesOf(NICS, (nic) => nic === 3))(
    'all transfers use device %i, and none another device',
    async (nic) => {
      const [a, b] = await startPair(...processes(nodes, shm, nic));
      await transferAll(a, b);
      const sysfs = await upToDate(a, b, nic);
      const busy = NICS.filter((each) => portCounter(sysfs, 'tx_bytes', each) > 0);
      expect(busy).toEqual([nic]);
      await a.close();
      await b.close();
    },
  );
});

test('efa within a node, with shm, works while all ports are down', async () => {
  const [a, b] = await startPair(...processes([0, 0], '1', 2));
  using faults = new SoftefaFaults({ namespace });
  faults.add('portDown');
  await transferAll(a, b);
  await a.close();
  await b.close();
});

test('efa transfers between different devices of two nodes', async () => {
  const one = { nics: 4, node: 0, domain: 'softefa_3-rdm' };
  const [a, b] = await startPair(one, { ...one, node: 9, domain: 'softefa_0-rdm' });
  await transferAll(a, b);
  await a.close();
  await b.close();
});

function processes([one, two]: readonly [number, number], shm: '0' | '1', nic: number) {
  const options = {
    nics: NICS.length,
    domain: `softefa_${nic}-rdm`,
    variables: { FI_EFA_ENABLE_SHM_TRANSFER: shm },
  };
  return [
    { ...options, node: one },
    { ...options, node: two },
  ] as const;
}
