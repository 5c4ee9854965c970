// The efa provider on devices without some capabilities. The provider emulates these.
import { version } from 'libfabric';
import type { SoftefaCapability, SoftefaOptions } from 'libfabric/softefa';
import { expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { runInline } from '../support/command.js';
import { portCounter, startPair, transferAll, upToDate } from '../support/process-pair.js';
import { withSoftefa } from '../support/softefa.js';

const ALL: readonly SoftefaCapability[] = [
  'RDMA_READ',
  'RNR_RETRY',
  'CQ_WITH_SGID',
  'RDMA_WRITE',
  'UNSOLICITED_WRITE_RECV',
];
const allExcept = (...without: SoftefaCapability[]): SoftefaOptions => ({
  capabilities: ALL.filter((capability) => !without.includes(capability)),
});

// This part, whatever SOFTEFA_PART_ID selects for the other tests.
const PART = { partId: 0xefa2 };

const devices: readonly [string, SoftefaOptions, reads: boolean][] = [
  ['everything', {}, true],
  ['no RDMA read', allExcept('RDMA_READ'), false],
  ['no RDMA write', allExcept('RDMA_WRITE', 'UNSOLICITED_WRITE_RECV'), true],
  ['no unsolicited receives of writes', allExcept('UNSOLICITED_WRITE_RECV'), true],
  ['no RNR retries', allExcept('RNR_RETRY'), true],
  ['no source in its completions', allExcept('CQ_WITH_SGID'), true],
  ['no capabilities', { capabilities: [] }, false],
  ['part 0xefa0', { partId: 0xefa0 }, false],
  ['part 0xefa0 with RDMA read', { partId: 0xefa0, capabilities: ALL }, version().major > 1],
  ['part 0xefa1', { partId: 0xefa1 }, version().major > 1],
  ['part 0xefa2', { partId: 0xefa2 }, true],
];

const isQuick = ([name]: (typeof devices)[number]) => /^no (RDMA read|capabilities)$/.test(name);

test.for(casesOf(devices, isQuick))(
  'efa transfers all data with a device that has: %s',
  async ([_, device, reads]) => {
    const [a, b] = await startPair(
      { ...PART, ...device, node: 0 },
      { ...PART, ...device, node: 1 },
    );
    await transferAll(a, b);
    const sysfs = await upToDate(a, b);
    expect(portCounter(sysfs, 'rdma_read_bytes') > 0, 'reads by the device').toBe(reads);
    await a.close();
    await b.close();
  },
);

test.each(casesOf(['0xefa0', '0xefa1', '0xefa2'], (part) => part === '0xefa2'))(
  'efa reports part %s',
  (part) => {
    const program = `
    import { getInfo } from 'libfabric';
    const [info] = getInfo({ fabricAttr: { provName: 'efa' } });
    console.log(info.nic.deviceAttr.deviceId, info.nic.deviceAttr.vendorId);`;
    const { stdout } = runInline(program, withSoftefa({ partId: Number(part) }));
    expect(stdout).toBe(`${part} 0x1d0f\n`);
  },
);
