// libfabric's own programs, which are not built for softefa, transfer and check data over it.
import { readdirSync } from 'node:fs';
import type { SoftefaOptions } from 'libfabric/softefa';
import { beforeEach, describe, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { ownNamespace } from '../support/own-namespace.js';
import {
  fiInfo,
  fiPingpong,
  notInstalled,
  rowsOf,
  sendsPrefix,
  sizesUpTo,
} from '../support/pingpong.js';

const namespace = ownNamespace('pingpong');
const ITERATIONS = '5';
// Each copy through shared memory waits for a thread of the peer, which takes long on a busy machine.
const FEW_ITERATIONS = '1';

beforeEach((context) => context.skip(notInstalled !== undefined, notInstalled));

interface Setup {
  readonly name: string;
  readonly nodes: 1 | 2;
  readonly shm?: true;
  readonly device?: SoftefaOptions;
}

const setups: readonly Setup[] = [
  { name: 'within a node, shm transfer on', nodes: 1, shm: true },
  { name: 'within a node, shm transfer off', nodes: 1 },
  { name: 'within a node, asynchronous', nodes: 1, device: { asynchronous: true } },
  { name: 'between two nodes', nodes: 2 },
  { name: 'between two nodes, asynchronous', nodes: 2, device: { asynchronous: true } },
  { name: 'without any capability', nodes: 2, device: { capabilities: [] } },
  { name: 'copied through shared memory', nodes: 2, device: { bounce: true } },
];

const types = [
  ['rdm', sizesUpTo(6 << 20)],
  ['dgram', sizesUpTo(8 << 10)], // up to the size of a packet
] as const;

const leftovers = () => readdirSync('/dev/shm').filter((file) => file.endsWith(namespace));

const isQuick = ({ nodes, shm, device = {} }: Setup) =>
  nodes === 1 ? shm === true : device.bounce === true;

describe.each(casesOf(setups, isQuick))('$name', ({ nodes, shm, device }) => {
  test.for(types)(
    'fi_pingpong -e %s transfers every size intact',
    async ([type, sizes], context) => {
      context.skip(type === 'rdm' && sendsPrefix !== undefined, sendsPrefix);
      const server = { namespace, ...device };
      const client = { ...server, node: nodes - 1 };
      const iterations = device?.bounce ? FEW_ITERATIONS : ITERATIONS;
      const args = ['-p', 'efa', '-e', type, '-S', 'all', '-c', '-I', iterations];
      const variables = { FI_EFA_ENABLE_SHM_TRANSFER: shm ? '1' : '0' };
      const ended = await fiPingpong(args, { server, client }, variables);
      const rows = sizes.map((bytes) => ({
        bytes,
        sent: iterations,
        acknowledged: `=${iterations}`,
      }));
      for (const side of [ended.server, ended.client]) {
        expect(side).toMatchObject({ status: 0, signal: null, stderr: '' });
        expect(rowsOf(side)).toEqual(rows);
      }
      expect(leftovers()).toEqual([]);
    },
  );
});

test('fi_info -p efa lists an RDM and a DGRAM domain of every device', () => {
  const { status, stdout } = fiInfo({ namespace, nics: 2 }, '-p', 'efa');
  expect(status).toBe(0);
  const found = [...stdout.matchAll(/domain: (\S+)\n.*\n\s+type: (\S+)/g)].map(
    ([, domain, type]) => `${domain} ${type}`,
  );
  // libfabric 2 lists RDM twice: the fabrics efa and efa-direct.
  expect([...new Set(found)].sort()).toEqual([
    'softefa_0-dgrm FI_EP_DGRAM',
    'softefa_0-rdm FI_EP_RDM',
    'softefa_1-dgrm FI_EP_DGRAM',
    'softefa_1-rdm FI_EP_RDM',
  ]);
  expect(leftovers()).toEqual([]);
});
