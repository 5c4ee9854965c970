// The attributes that devices() returns for software EFA devices.
import { execFileSync } from 'node:child_process';
import { getInfo } from 'libfabric';
import { SoftefaFaults, type SoftefaOptions, softefaEnvironment } from 'libfabric/softefa';
import { type Device, devices, whyNoDevices } from 'libfabric/verbs';
import { expect, test } from 'vitest';
import { hasRdmaDevice } from '../support/fake-sysfs.js';
import { namespace, partId } from '../support/softefa.js';

/** Runs a program in its own process. Returns its output, parsed as JSON. */
function run<T>(body: string, env: NodeJS.ProcessEnv = {}): T {
  const program = `
    import { devices, counters, whyNoDevices } from 'libfabric/verbs';
    const print = (value) => console.log(JSON.stringify(value, (_, field) =>
      typeof field === 'bigint' ? String(field) : field));
    ${body}`;
  const args = ['--input-type=module', '-e', program];
  const { SYSFS_PATH: _, ...inherited } = process.env; // contains this process's devices
  const options = { encoding: 'utf8', env: { ...inherited, ...env } } as const;
  return JSON.parse(execFileSync(process.execPath, args, options));
}

const elsewhere = (options: SoftefaOptions) =>
  softefaEnvironment({ namespace: `${namespace}-devices`, ...options });

const printDevices = 'print(devices());';

const NEWER = [
  'RDMA_READ',
  'RNR_RETRY',
  'CQ_WITH_SGID',
  'RDMA_WRITE',
  'UNSOLICITED_WRITE_RECV',
  'CQ_WITH_EXT_MEM_DMABUF',
];
const CAPABILITIES: Record<number, string[]> = {
  61344: ['RNR_RETRY', 'CQ_WITH_SGID', 'CQ_WITH_EXT_MEM_DMABUF'],
  61345: NEWER.filter((name) => name !== 'UNSOLICITED_WRITE_RECV'),
};

test('each NIC is a device', () => {
  const all = run<Device[]>(printDevices, elsewhere({ nics: 12 }));
  const names = Array.from({ length: 12 }, (_, nic) => `softefa_${nic}`);
  expect(all.map(({ name }) => name)).toEqual(names); // 10 after 9
  for (const field of ['nodeGuid', 'pciAddress', 'sysfsPath'] as const) {
    expect(new Set(all.map((device) => device[field])).size, field).toBe(12);
  }
});

test('a device has the attributes of rdma-core and sysfs', () => {
  const [device, ...others] = devices();
  expect(others).toEqual([]);
  expect(whyNoDevices()).toBeNull();
  expect(device).toMatchObject({
    name: 'softefa_0',
    pciAddress: expect.stringMatching(/^0000:[\da-f]{2}:1f\.0$/),
    numaNode: null,
    driver: 'softefa',
    driverVersion: null,
    firmware: '0.0.0.0', // as of an EFA
    vendorId: 0x1d0f,
    vendorPartId: partId,
    atomics: 'NONE',
    emulated: true,
    error: null,
  });
  expect(device?.nodeGuid).toMatch(/^([\da-f]{4}:){3}[\da-f]{4}$/);
  expect(device?.limits).toMatchObject({ maxMrSize: 2n ** 64n - 1n, maxQp: 256, maxCqe: 65_536 });
  expect(device?.ports).toEqual([
    {
      number: 1,
      state: 'ACTIVE',
      physicalState: 'LINK_UP',
      linkLayer: 'UNSPECIFIED',
      maxMtu: 4096,
      activeMtu: 4096,
      maxMessageSize: 8928,
      lid: 0,
      activeWidth: 4,
      speed: 100,
      gids: [
        {
          index: 0,
          gid: expect.stringMatching(/^fe80:(\w{4}:){6}\w{4}$/),
          type: 'IB/RoCE v1',
          netdev: null,
        },
      ],
    },
  ]);
  expect(device?.efa).toEqual({
    compMask: 0n,
    maxSqWr: 4096,
    maxRqWr: 32_768,
    maxSqSge: 2,
    maxRqSge: 3,
    inlineBufSize: 32,
    inlineBufSizeEx: 80,
    maxRdmaSize: partId === 0xefa0 ? 0 : 2 ** 30,
    capabilities: CAPABILITIES[partId] ?? NEWER,
  });
});

test("a device has libfabric's domain names and firmware version", () => {
  const infos = getInfo({ fabricAttr: { provName: 'efa' } });
  const [device] = devices();
  const names = new Set(infos.map(({ domainAttr }) => domainAttr.name));
  expect(new Set(device?.domains)).toEqual(names);
  expect(device?.pciAddress).toMatch(/^0000:/);
  const nic = infos[0]?.nic;
  expect(device?.firmware).toBe(nic?.deviceAttr?.firmware);
});

test.for<[string, SoftefaOptions, string[], number]>([
  ['no capability', { capabilities: [] }, [], 0],
  ['only RDMA writes', { capabilities: ['RDMA_WRITE'] }, ['RDMA_WRITE'], 2 ** 30],
  ['only RNR retries', { capabilities: ['RNR_RETRY'] }, ['RNR_RETRY'], 0],
])('a device with %s reports its capabilities', ([, options, capabilities, maxRdmaSize]) => {
  const [device] = run<Device[]>(printDevices, elsewhere({ ...options, partId: 0xefa1 }));
  expect(device?.vendorPartId).toBe(0xefa1);
  expect(device?.efa).toMatchObject({ capabilities, maxRdmaSize });
});

test('devices() reports removed capabilities and a port that is down', () => {
  const faults = new SoftefaFaults({ namespace });
  try {
    faults.set({ capabilities: ['CQ_WITH_SGID'] });
    faults.add('portDown');
    const [device] = devices();
    expect(device?.efa?.capabilities).toEqual(['CQ_WITH_SGID']);
    expect(device?.ports[0]).toMatchObject({ state: 'DOWN', physicalState: 'DISABLED' });
  } finally {
    faults.close();
  }
  expect(devices()[0]?.ports[0]?.state).toBe('ACTIVE');
});

test('devices() does not load libfabric', () => {
  const loaded = `
    import { readFileSync } from 'node:fs';
    devices();
    print(/libfabric\\.(so|node)/.test(readFileSync('/proc/self/maps', 'utf8')));`;
  expect(run(loaded, elsewhere({}))).toBe(false);
});

test.skipIf(hasRdmaDevice())('devices() finds devices that loadSoftefa() adds later', () => {
  const found = run<[string[], string[]]>(`
    import { loadSoftefa } from 'libfabric/softefa';
    const names = () => devices().map(({ name }) => name);
    const before = names();
    loadSoftefa({ nics: 2, namespace: '${namespace}-later' });
    print([before, names()]);`);
  expect(found).toEqual([[], ['softefa_0', 'softefa_1']]);
});

test('devices() and counters() work in a worker', () => {
  const body = `
    import { Worker } from 'node:worker_threads';
    const code = \`
      import { parentPort } from 'node:worker_threads';
      import { counters, devices } from 'libfabric/verbs';
      const names = devices().map(({ name }) => name);
      parentPort.postMessage([names, 'tx_bytes' in counters('softefa_1')]);\`;
    new Worker(code, { eval: true }).on('message', print);`;
  expect(run(body, elsewhere({ nics: 2 }))).toEqual([['softefa_0', 'softefa_1'], true]);
});
