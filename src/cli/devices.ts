import { Command } from 'commander';
import type { NearAccelerator, PciDistance } from '../verbs/accelerators.js';
import type { Device, Port } from '../verbs/device-types.js';
import { devices, whyNoDevices } from '../verbs/index.js';
import { jsonText } from './shared/json.js';

interface Flags {
  readonly json?: true;
}

/** libfabric devices: the RDMA devices of this machine, as rdma-core reports them. */
export function devicesCommand(): Command {
  return new Command('devices')
    .summary('show the RDMA devices of this machine')
    .description(
      'Shows the RDMA devices of this machine, as rdma-core and sysfs report them, with the ' +
        'capabilities of an EFA and its distance to each GPU. Without a device it shows the reason, and the exit code is 1.',
    )
    .option('--json', 'print JSON: what devices() of libfabric/verbs returns')
    .addHelpText(
      'after',
      `
Examples:
  npx libfabric devices
  npx libfabric devices --json | jq '.[].efa.capabilities'
  npx libfabric softefa --nics 2 -- npx libfabric devices`,
    )
    .action(({ json }: Flags) => {
      const all = devices();
      if (json) process.stdout.write(jsonText(all));
      else process.stdout.write(all.map(deviceText).join('\n'));
      if (all.length > 0) return;
      console.error(whyNoDevices()?.message);
      process.exitCode = 1;
    });
}

type Line = readonly [label: string, value: string | number | bigint | null | undefined];

const DISTANCES: Readonly<Record<PciDistance, string>> = {
  PIX: 'same PCIe switch',
  PXB: 'same PCIe switches',
  PHB: 'same PCIe host bridge',
  NODE: 'same NUMA node',
  SYS: 'another NUMA node',
};

const acceleratorText = ({ vendor, pciAddress, distance }: NearAccelerator) =>
  `${vendor} ${pciAddress} (${distance}: ${DISTANCES[distance]})`;

/** A block of lines. Unknown values are omitted. */
export function deviceText(device: Device): string {
  const { efa, limits } = device;
  const lines: readonly Line[] = [
    ['error', device.error?.message],
    ['domains', device.domains.join(', ')],
    ['PCI address', device.pciAddress],
    ['NUMA node', device.numaNode],
    ['accelerators', device.accelerators.map(acceleratorText).join(', ')],
    ['driver', joined(device.driver, device.driverVersion)],
    ['firmware', device.firmware],
    ['vendor, part', joined(hex(device.vendorId), hex(device.vendorPartId))],
    ['node GUID', device.nodeGuid],
    ...device.ports.flatMap(portLines),
    ['capabilities', device.capabilities.join(', ')],
    ['EFA', efa && (efa.capabilities.join(', ') || 'no capability')],
    ['EFA limits', efa && fieldsText(efa)],
    ['limits', limits && fieldsText(limits)],
  ];
  const shown = lines.filter(([, value]) => value != null && value !== '');
  const width = Math.max(...shown.map(([label]) => label.length));
  const head = `${device.name}${device.emulated ? ' (a device in software)' : ''}\n`;
  const indent = ' '.repeat(width + 4);
  return (
    head +
    shown
      .map(([label, value]) => `  ${label.padEnd(width)}  ${wrapped(`${value}`, indent)}\n`)
      .join('')
  );
}

const COLUMNS = 100;

/** Wraps a list that is too long for one line. */
function wrapped(text: string, indent: string): string {
  const [first = '', ...rest] = text.split(', ');
  let line = first;
  const lines: string[] = [];
  for (const part of rest) {
    line += ',';
    if (indent.length + line.length + part.length + 2 > COLUMNS) {
      lines.push(line);
      line = part;
    } else {
      line += ` ${part}`;
    }
  }
  return [...lines, line].join(`\n${indent}`);
}

function portLines(port: Port): Line[] {
  const { number, state, physicalState, linkLayer, activeMtu, maxMtu, maxMessageSize } = port;
  const link = linkLayer === 'UNSPECIFIED' ? null : linkLayer;
  const about = [
    joined(state, physicalState, link),
    port.speed === null ? null : `${port.speed} Gbit/s`,
    activeMtu === null ? null : `MTU ${activeMtu} of ${maxMtu}`,
    maxMessageSize === null ? null : `messages up to ${maxMessageSize} bytes`,
  ];
  const gids = port.gids.map(({ gid, index, type, netdev }) => {
    return [`port ${number} GID ${index}`, joined(gid, type, netdev)] as const;
  });
  return [[`port ${number}`, about.filter((part) => part !== null).join(', ')], ...gids];
}

/** `'maxQp 256, maxCq 512'`: numbers that are not 0. */
function fieldsText(fields: object): string {
  return Object.entries(fields)
    .filter(([, value]) => /^(number|bigint)$/.test(typeof value) && value)
    .map(([name, value]) => `${name} ${name === 'pageSizeCap' ? `0x${value.toString(16)}` : value}`)
    .join(', ');
}

const joined = (...parts: readonly (string | null)[]) =>
  parts.filter((part) => part !== null).join(' ');
const hex = (value: number | null) => (value === null ? null : `0x${value.toString(16)}`);
