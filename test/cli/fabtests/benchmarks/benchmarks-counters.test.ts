// A benchmark reports the increase of the counters of its devices, if they have counters.
import { SoftefaFaults, softefaEnvironment } from 'libfabric/softefa';
import { expect, onTestFinished, test } from 'vitest';
import { counterTable } from '../../../../dist/cli/fabtests/common/statistics-table.js';
import { parseResult } from '../../../../dist/cli/report/schema.js';
import type { BenchmarkResult, BenchmarkRow } from '../../../../dist/cli/shared/result.js';
import type { Ended } from '../../../support/command.js';
import { freePort } from '../../../support/free-port.js';
import { ownNamespace } from '../../../support/own-namespace.js';
import { rowOf } from '../../../support/results.js';
import { runPair } from '../../../support/sides.js';

const namespace = ownNamespace('counters');

/** Runs server and client, each acting as its own host, with software EFA devices. */
async function onEfa(args: readonly string[], nics = 1) {
  const [server, client] = [0, 1].map((node) =>
    softefaEnvironment({ namespace, node, nics, memlock: 'unlimited' }),
  ) as [Record<string, string>, Record<string, string>];
  const sides = await runPair([...args, '-p', 'efa', `-E=${await freePort()}`], { server, client });
  expect(sides).toMatchObject({ server: { code: 0, stderr: '' }, client: { code: 0, stderr: '' } });
  return sides;
}

const rowsIn = ({ stdout }: Ended) =>
  (parseResult(JSON.parse(stdout)) as BenchmarkResult).rows as BenchmarkRow[];

test('each row counts only the transfers of its own size', async () => {
  const { server, client } = await onEfa([
    'rdm-pingpong',
    '-S',
    'l:4096,64',
    '-I',
    '256',
    '--json',
  ]);
  for (const side of [server, client]) {
    const [large, small] = rowsIn(side);
    expect(large?.counters?.tx_bytes).toBeGreaterThanOrEqual(4096 * 256);
    expect(large?.counters?.rx_bytes).toBeGreaterThanOrEqual(4096 * 256);
    expect(small?.counters?.tx_bytes).toBeGreaterThanOrEqual(64 * 256);
    expect(small?.counters?.tx_bytes).toBeLessThan(4096 * 64);
    expect(Object.values({ ...large?.counters, ...small?.counters })).not.toContain(0);
  }
});

test('the counters of several NICs are added', async () => {
  const args = ['rma-bw', '--nics', 'all', '-S', '65536', '-I', '256', '--json'];
  const { client } = await onEfa(args, 2);
  const [row] = rowsIn(client);
  expect(row?.nics?.map(({ name }) => name)).toEqual(['softefa_0', 'softefa_1']);
  expect(row?.iterations).toBeGreaterThanOrEqual(512);
  expect(row?.counters?.tx_bytes).toBeGreaterThanOrEqual(65_536 * (row?.iterations ?? 0));
});

test('--stats prints a table of them, with drops and retransmissions', async () => {
  const faults = new SoftefaFaults({ namespace });
  onTestFinished(() => faults.close());
  faults.set({ drop: 300 });
  const { client } = await onEfa(['rdm-pingpong', '-S', '64', '-I', '200', '--stats']);
  const lines = client.stdout.split('\n');
  const at = lines.indexOf('counters of the device');
  expect(lines[at + 2]?.trim().split(/ +/)).toEqual(
    'bytes bytes packets bytes packets bytes packets timeouts drops unresponsive impaired'.split(
      ' ',
    ),
  );
  const [size, sent, , received, , again, retransmits] = (lines[at + 3] ?? '')
    .split(/ +/)
    .map(Number);
  expect(size).toBe(64);
  for (const bytes of [sent, received]) expect(bytes).toBeGreaterThanOrEqual(64 * 200);
  expect(retransmits).toBeGreaterThan(0);
  expect(again).toBeGreaterThanOrEqual(64 * (retransmits as number));
});

test.each(['tcp', 'shm'])('%s has no counters, and prints none', async (provider) => {
  const args = ['rdm-pingpong', '-p', provider, '-S', '64', '-I', '20', `-E=${await freePort()}`];
  const { server } = await runPair([...args, '--stats']);
  expect(server).toMatchObject({ code: 0, stderr: '' });
  expect(server.stdout).toContain('latency, usec/xfer');
  expect(server.stdout).not.toContain('counters');
  const { client } = await runPair([...args, '--json']);
  expect(rowsIn(client)[0]).not.toHaveProperty('counters');
});

test("another vendor's counters have the same columns", () => {
  const counters = { port_xmit_data: 1000, port_rcv_packets: 7, local_ack_timeout_err: 2 };
  const lines = counterTable([
    rowOf(4096, 1, { counters }),
    rowOf(64, 1),
    rowOf(1, 1, { counters: {} }),
  ]);
  expect(lines).toEqual([
    '',
    'counters of the device',
    '                             sent                 received                  retransmitted                          remotes',
    'bytes            bytes    packets         bytes    packets       bytes  packets  timeouts    drops  unresponsive  impaired',
    '4k                4000          0             0          7           0        2         2        0             0         0',
    '1                    0          0             0          0           0        0         0        0             0         0',
  ]);
});
