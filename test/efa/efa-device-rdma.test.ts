// Whether the device does reads or the efa provider emulates them, as getOption() reports, on every part. The
// provider decides by the API version that the application requests.
import { version } from 'libfabric';
import type { SoftefaCapability } from 'libfabric/softefa';
import { beforeEach, describe, expect, test } from 'vitest';
import { runInline } from '../support/command.js';
import { withSoftefa } from '../support/softefa.js';

const { major, minor } = version();
const reportsEmulation = major > 1 || minor >= 18; // FI_OPT_EFA_EMULATED_READ

const PROGRAM = `
  import { open } from 'libfabric';
  const options = JSON.parse(process.env.OPTIONS);
  try {
    const ep = await open({ provider: 'efa', caps: ['FI_MSG', 'FI_RMA'], ...options });
    console.log(JSON.stringify(ep.getOption('FI_OPT_EFA_EMULATED_READ')));
    await ep.close();
  } catch (error) {
    console.log(JSON.stringify(error.code));
  }`;

function emulatesReads(
  partId: number,
  options: object,
  capabilities?: readonly SoftefaCapability[],
): unknown {
  const device = { partId, ...(capabilities && { capabilities }) };
  const env = { ...withSoftefa(device), OPTIONS: JSON.stringify(options) };
  const { stdout, stderr } = runInline(PROGRAM, env);
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

describe('efa', () => {
  beforeEach((context) => {
    context.skip(!reportsEmulation, 'libfabric < 1.18 has no option FI_OPT_EFA_EMULATED_READ');
  });

  test.each(['0xefa1', '0xefa2', '0xefa3'])('uses RDMA read of part %s', (part) => {
    expect(emulatesReads(Number(part), {})).toBe(false);
  });

  test('uses RDMA read of a part 0xefa0 that has it', () => {
    expect(emulatesReads(0xefa0, {})).toBe(true);
    expect(emulatesReads(0xefa0, {}, ['RDMA_READ'])).toBe(false);
  });

  test('emulates reads on part 0xefa1 if the API version is 1.17', () => {
    expect(emulatesReads(0xefa1, { apiVersion: '1.17' })).toBe(true);
    expect(emulatesReads(0xefa2, { apiVersion: '1.17' })).toBe(false);
  });

  test('does not use device RDMA if FI_OPT_EFA_USE_DEVICE_RDMA is false', () => {
    const options = { FI_OPT_EFA_USE_DEVICE_RDMA: false };
    expect(emulatesReads(0xefa2, { options })).toBe(true);
    expect(emulatesReads(0xefa2, { options, apiVersion: '1.17' })).toBe('FI_ENOPROTOOPT');
  });
});

test('efa of libfabric 1.17 has no option FI_OPT_EFA_EMULATED_READ', (context) => {
  context.skip(reportsEmulation, 'this libfabric has it');
  expect(emulatesReads(0xefa1, {})).toBe('FI_ENOPROTOOPT');
});
