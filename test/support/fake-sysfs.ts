// A file tree like that of sysfs for RDMA devices.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Whether this machine has RDMA devices. libibverbs lists these regardless of SYSFS_PATH. */
export function hasRdmaDevice(): boolean {
  try {
    return readdirSync('/sys/class/infiniband').length > 0;
  } catch {
    return false;
  }
}

/** The contents of files, by path. A value `-> x` makes a symbolic link. */
export type Files = Readonly<Record<string, string | number | bigint>>;

export class FakeSysfs {
  readonly root = mkdtempSync(join(tmpdir(), 'fake-sysfs-'));

  put(files: Files): void {
    for (const [name, value] of Object.entries(files)) {
      const path = join(this.root, name);
      mkdirSync(dirname(path), { recursive: true });
      const [, target] = /^-> (.*)$/.exec(String(value)) ?? [];
      if (target === undefined) writeFileSync(path, `${value}\n`);
      else symlinkSync(join(this.root, target), path);
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true });
  }
}

/** Adds a NIC of another vendor with two ports. */
export function addConnectX(fake: FakeSysfs): void {
  const pci = 'devices/pci0000:00/0000:3b:00.0';
  const device = 'class/infiniband/mlx5_0';
  fake.put({
    'bus/pci/drivers/mlx5_core/bind': '',
    'module/mlx5_core/version': '5.8-1.0.1',
    [`${pci}/vendor`]: '0x15b3',
    [`${pci}/device`]: '0x101d',
    [`${pci}/numa_node`]: 1,
    [`${pci}/driver`]: '-> bus/pci/drivers/mlx5_core',
    [`${device}/device`]: `-> ${pci}`,
    [`${device}/node_guid`]: 'b8ce:f603:0012:3456',
    [`${device}/sys_image_guid`]: 'b8ce:f603:0012:3456',
    [`${device}/fw_ver`]: '22.35.1012',
    [`${device}/hw_counters/lifespan`]: 10,
    [`${device}/hw_counters/resets`]: 2,
    [`${device}/ports/2/state`]: '1: DOWN',
    [`${device}/ports/2/phys_state`]: '3: Disabled',
  });
  const port = `${device}/ports/1`;
  fake.put({
    [`${port}/state`]: '4: ACTIVE',
    [`${port}/phys_state`]: '5: LinkUp',
    [`${port}/rate`]: '100 Gb/sec (2X HDR)',
    [`${port}/link_layer`]: 'Ethernet',
    [`${port}/lid`]: '0x0',
    [`${port}/gids/0`]: 'fe80:0000:0000:0000:bace:f6ff:fe12:3456',
    [`${port}/gids/1`]: '0000:0000:0000:0000:0000:0000:0000:0000',
    [`${port}/gid_attrs/types/0`]: 'RoCE v2',
    [`${port}/gid_attrs/ndevs/0`]: 'ens1f0',
    [`${port}/counters/port_xmit_data`]: 18_446_744_073_709_551_615n,
    [`${port}/counters/port_rcv_data`]: 1000,
    [`${port}/counters/port_rcv_packets`]: 10,
    [`${port}/counters/VL15_dropped`]: 'N/A (no PMA)',
    [`${port}/hw_counters/lifespan`]: 10,
    [`${port}/hw_counters/out_of_buffer`]: 3,
  });
}
