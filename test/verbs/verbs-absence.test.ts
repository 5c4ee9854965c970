// devices() and whyNoDevices() without a device, a driver or rdma-core.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { counters, devices, VerbsError, whyNoDevices } from 'libfabric/verbs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addConnectX, FakeSysfs, hasRdmaDevice } from '../support/fake-sysfs.js';

let fake: FakeSysfs;
beforeEach(() => {
  fake = new FakeSysfs();
  process.env.SYSFS_PATH = fake.root;
});
afterEach(() => {
  delete process.env.SYSFS_PATH;
  fake.remove();
});

describe.skipIf(hasRdmaDevice())('on a machine without devices', () => {
  test('a kernel without RDMA has no devices', () => {
    expect(devices()).toEqual([]);
    expect(whyNoDevices()?.code).toBe('ERR_NO_RDMA_SUBSYSTEM');
    expect(whyNoDevices()?.message).toMatch(/class\/infiniband.*\n.*softefa/);
    expect(whyNoDevices()?.message).not.toMatch(/EC2/);
  });

  test('on EC2, the message suggests to attach an EFA', () => {
    fake.put({ 'class/dmi/id/sys_vendor': 'Amazon EC2' });
    expect(whyNoDevices()?.message).toMatch(/EC2.*EFA network interface/);
  });

  test('a kernel with RDMA may have no device', () => {
    fake.put({ 'class/infiniband/.keep': '' });
    rmSync(join(fake.root, 'class/infiniband/.keep'));
    expect(devices()).toEqual([]);
    expect(whyNoDevices()?.code).toBe('ERR_NO_RDMA_DEVICE');
  });

  test('the message names an EFA without a driver', () => {
    const efa = 'bus/pci/devices/0000:00:06.0';
    fake.put({ [`${efa}/vendor`]: '0x1d0f', [`${efa}/device`]: '0xefa1' });
    expect(whyNoDevices()).toMatchObject({
      code: 'ERR_NO_RDMA_DRIVER',
      message: expect.stringMatching(/0000:00:06\.0.*modprobe efa/),
    });
    fake.put({ 'bus/pci/drivers/efa/bind': '', [`${efa}/driver`]: '-> bus/pci/drivers/efa' });
    expect(whyNoDevices()?.code).toBe('ERR_NO_RDMA_SUBSYSTEM');
  });

  test("another vendor's device that libibverbs cannot open has the attributes of sysfs", () => {
    addConnectX(fake);
    const [device, ...others] = devices();
    expect(others).toEqual([]);
    expect(whyNoDevices()).toBeNull();
    expect(device?.error).toBeInstanceOf(VerbsError);
    expect(device?.error?.code).toBe('ENODEV');
    expect(device).toMatchObject({
      name: 'mlx5_0',
      nodeGuid: 'b8ce:f603:0012:3456',
      pciAddress: '0000:3b:00.0',
      numaNode: 1,
      driver: 'mlx5_core',
      driverVersion: '5.8-1.0.1',
      firmware: '22.35.1012',
      vendorId: 0x15b3,
      vendorPartId: 0x101d,
      limits: null,
      efa: null,
      domains: ['mlx5_0'],
      emulated: false,
    });
    const gid = {
      index: 0,
      gid: 'fe80:0000:0000:0000:bace:f6ff:fe12:3456',
      type: 'RoCE v2',
      netdev: 'ens1f0',
    };
    expect(device?.ports).toMatchObject([
      {
        number: 1,
        state: 'ACTIVE',
        physicalState: 'LINK_UP',
        linkLayer: 'ETHERNET',
        activeWidth: 2,
        speed: 100,
        lid: 0,
        gids: [gid],
      },
      { number: 2, state: 'DOWN', physicalState: 'DISABLED', speed: null, gids: [] },
    ]);
  });
});

describe('without rdma-core', () => {
  // The loader finds this file instead of the library, and cannot load it.
  const folder = mkdtempSync(join(tmpdir(), 'no-rdma-core-'));
  writeFileSync(join(folder, 'libibverbs.so.1'), 'not a library');

  function run(body: string): unknown {
    const program = `
      import { counters, devices, whyNoDevices } from 'libfabric/verbs';
      let result;
      try { result = ${body}; } catch ({ code, message }) { result = { code, message }; }
      console.log(JSON.stringify(result, (_, value) =>
        typeof value === 'bigint' ? Number(value) : value));`;
    const env = { ...process.env, LD_LIBRARY_PATH: folder };
    const args = ['--input-type=module', '-e', program];
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', env }));
  }

  test('the error of devices() names the package to install', () => {
    const message = expect.stringMatching(/libibverbs\.so\.1(.|\n)*apt-get install rdma-core/);
    const expected = { code: 'ERR_RDMA_CORE_NOT_FOUND', message };
    expect(run('devices()')).toEqual(expected);
    expect(run('whyNoDevices()')).toEqual(expected);
  });

  test('counters() still works', () => {
    addConnectX(fake);
    expect(run("counters('mlx5_0').port_rcv_packets")).toBe(10);
  });
});

test('counters() of an unknown device or port fails and names the known ones', () => {
  addConnectX(fake);
  const code = (call: () => unknown) => {
    try {
      call();
    } catch (error) {
      return error;
    }
  };
  expect(code(() => counters('mlx5_1'))).toMatchObject({
    code: 'ENODEV',
    message: expect.stringMatching(/mlx5_0/),
  });
  expect(code(() => counters('mlx5_0', { port: 3 }))).toMatchObject({ code: 'ENXIO' });
  expect(code(() => counters('mlx5_0', { port: 0 }))).toMatchObject({ code: 'ERR_OUT_OF_RANGE' });
  expect(code(() => counters(7 as never))).toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
  expect(code(() => counters.watch('mlx5_0', { interval: 0 }))).toMatchObject({
    code: 'ERR_OUT_OF_RANGE',
  });
});
