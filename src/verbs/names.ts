// The enumerations of infiniband/verbs.h and infiniband/efadv.h, by value.
import type { LinkLayer, PhysicalState, PortState } from './device-types.js';

export const PORT_STATES: readonly PortState[] = [
  'NOP',
  'DOWN',
  'INIT',
  'ARMED',
  'ACTIVE',
  'ACTIVE_DEFER',
];
export const PHYSICAL_STATES: readonly (PhysicalState | undefined)[] = [
  undefined,
  'SLEEP',
  'POLLING',
  'DISABLED',
  'PORT_CONFIGURATION_TRAINING',
  'LINK_UP',
  'LINK_ERROR_RECOVERY',
  'PHY_TEST',
];
export const LINK_LAYERS: readonly LinkLayer[] = ['UNSPECIFIED', 'INFINIBAND', 'ETHERNET'];
export const ATOMICS = ['NONE', 'HCA', 'GLOB'] as const;

/** ibv_device_cap_flags */
export const DEVICE_CAPABILITIES: Readonly<Record<number, string>> = {
  0: 'RESIZE_MAX_WR',
  1: 'BAD_PKEY_CNTR',
  2: 'BAD_QKEY_CNTR',
  3: 'RAW_MULTI',
  4: 'AUTO_PATH_MIG',
  5: 'CHANGE_PHY_PORT',
  6: 'UD_AV_PORT_ENFORCE',
  7: 'CURR_QP_STATE_MOD',
  8: 'SHUTDOWN_PORT',
  9: 'INIT_TYPE',
  10: 'PORT_ACTIVE_EVENT',
  11: 'SYS_IMAGE_GUID',
  12: 'RC_RNR_NAK_GEN',
  13: 'SRQ_RESIZE',
  14: 'N_NOTIFY_CQ',
  17: 'MEM_WINDOW',
  18: 'UD_IP_CSUM',
  20: 'XRC',
  21: 'MEM_MGT_EXTENSIONS',
  23: 'MEM_WINDOW_TYPE_2A',
  24: 'MEM_WINDOW_TYPE_2B',
  25: 'RC_IP_CSUM',
  26: 'RAW_IP_CSUM',
  29: 'MANAGED_FLOW_STEERING',
};

/** EFADV_DEVICE_ATTR_CAPS_* */
export const EFA_CAPABILITIES: Readonly<Record<number, string>> = {
  0: 'RDMA_READ',
  1: 'RNR_RETRY',
  2: 'CQ_WITH_SGID',
  3: 'RDMA_WRITE',
  4: 'UNSOLICITED_WRITE_RECV',
  5: 'CQ_WITH_EXT_MEM_DMABUF',
  6: 'COMP_CNTR',
};

/** The names of the set bits of 32, or `'0x80'` for a bit without a name. */
export function bitNames(bits: number, names: Readonly<Record<number, string>>): string[] {
  const set = Array.from({ length: 32 }, (_, bit) => bit).filter((bit) => (bits >>> bit) & 1);
  return set.map((bit) => names[bit] ?? `0x${(2 ** bit).toString(16)}`);
}

/** `'fe80:0000:0000:0001'`: groups of four hex digits, the format of GUIDs and GIDs in sysfs. */
export function groups(hex: string): string {
  return hex.match(/.{4}/g)?.join(':') ?? '';
}

export function guidText(guid: bigint): string {
  return groups(guid.toString(16).padStart(16, '0'));
}
