import { join } from 'node:path';
import { namesIn, portNumbers, readText } from '../base/sysfs.js';
import type { Gid, PhysicalState, Port, PortState } from './device-types.js';
import { groups, LINK_LAYERS, PHYSICAL_STATES, PORT_STATES } from './names.js';
import type { NativePort } from './native.js';

// ibv_port_attr.active_width
const LANES: Readonly<Record<number, number>> = { 1: 1, 2: 4, 4: 8, 8: 12, 16: 2 };
// ibv_port_attr.active_speed: nominal Gbit/s of a lane, SDR to XDR
const LANE_SPEED: Readonly<Record<number, number>> = {
  1: 2.5,
  2: 5,
  4: 10,
  8: 10,
  16: 14,
  32: 25,
  64: 50,
  128: 100,
  256: 200,
};
const UNSET = /^[0:]*$/;

/** A port, from libibverbs. `device` is the device's folder in sysfs. */
export function portFromVerbs(device: string, port: NativePort): Port {
  const { number, activeWidth, activeSpeed } = port;
  const lanes = LANES[activeWidth] ?? null;
  const laneSpeed = LANE_SPEED[activeSpeed];
  return {
    number,
    state: PORT_STATES[port.state] ?? null,
    physicalState: PHYSICAL_STATES[port.physicalState] ?? null,
    linkLayer: LINK_LAYERS[port.linkLayer] ?? null,
    maxMtu: bytesOfMtu(port.maxMtu),
    activeMtu: bytesOfMtu(port.activeMtu),
    maxMessageSize: port.maxMessageSize,
    lid: port.lid,
    activeWidth: lanes,
    speed: lanes !== null && laneSpeed !== undefined ? lanes * laneSpeed : null,
    gids: port.gids.map(({ index, bytes }) =>
      gidOf(join(device, 'ports', String(number)), index, groups(hexOf(bytes))),
    ),
  };
}

/** The ports of a device that could not be opened, from sysfs. */
export function portsFromSysfs(device: string): Port[] {
  return portNumbers(device).map((number) => {
    const folder = join(device, 'ports', String(number));
    const rate = readText(folder, 'rate') ?? '';
    const [, width] = /\((\d+)X/.exec(rate) ?? [];
    const [, speed] = /^([\d.]+) Gb\/sec/.exec(rate) ?? [];
    const layer = readText(folder, 'link_layer')?.toUpperCase();
    const lid = readText(folder, 'lid');
    return {
      number,
      state: stateOf(folder),
      physicalState: physicalStateOf(folder),
      linkLayer: LINK_LAYERS.find((name) => name === layer) ?? null,
      maxMtu: null,
      activeMtu: null,
      maxMessageSize: null,
      lid: lid === null ? null : Number(lid),
      activeWidth: width === undefined ? null : Number(width),
      speed: speed === undefined ? null : Number(speed),
      gids: gidsFromSysfs(folder),
    };
  });
}

// The files begin with the number: "4: ACTIVE".
const leadingNumber = (text: string | null) => Number.parseInt(text ?? '', 10);

/** The state of a port, from its folder. */
export function stateOf(folder: string): PortState | null {
  return PORT_STATES[leadingNumber(readText(folder, 'state'))] ?? null;
}

function physicalStateOf(folder: string): PhysicalState | null {
  return PHYSICAL_STATES[leadingNumber(readText(folder, 'phys_state'))] ?? null;
}

function gidsFromSysfs(folder: string): Gid[] {
  const indices = namesIn(folder, 'gids').map(Number);
  return indices
    .sort((a, b) => a - b)
    .map((index) => gidOf(folder, index, readText(folder, 'gids', String(index)) ?? ''))
    .filter(({ gid }) => !UNSET.test(gid));
}

function gidOf(folder: string, index: number, gid: string): Gid {
  const attribute = (name: string) => readText(folder, 'gid_attrs', name, String(index)) || null;
  return { index, gid, type: attribute('types'), netdev: attribute('ndevs') };
}

// ibv_mtu: 1 is 256 bytes, 5 is 4096.
function bytesOfMtu(mtu: number): number | null {
  return mtu >= 1 && mtu <= 5 ? 128 << mtu : null;
}

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
