// Variables that only some releases of libfabric read: those of its core, efa, shm, tcp, udp, rxm
// and lnx that changed between 1.17 and 2.7.
import { atLeast } from './library.js';

/** The first release that reads a variable, undefined if 1.17 does, and the last one. */
type Releases = readonly [since: string | undefined, until?: string];

const RELEASES: Readonly<Record<string, Releases>> = {
  FI_EFA_ENABLE_HIGH_PPS: ['2.6', '2.6'],
  FI_EFA_IMPLICIT_AV_SIZE: ['2.3'],
  FI_EFA_INTERNAL_RX_REFILL_THRESHOLD: ['2.0'],
  FI_EFA_MTU_SIZE: [undefined, '1.17'],
  FI_EFA_RX_IOV_LIMIT: [undefined, '1.18'],
  FI_EFA_SET_CUDA_SYNC_MEMOPS: [undefined, '1.19'],
  FI_EFA_SHM_MAX_MEDIUM_SIZE: [undefined, '1.18'],
  FI_EFA_TRACK_MR: ['2.5.1'],
  FI_EFA_TX_IOV_LIMIT: [undefined, '1.18'],
  FI_EFA_USE_DATA_PATH_DIRECT: ['2.3'],
  FI_EFA_USE_HUGE_PAGE: ['1.19'],
  FI_EFA_USE_HW_CNTR: ['2.6'],
  FI_EFA_USE_SM2: ['1.19'],
  FI_EFA_USE_SQ_REQ_ID_64_BIT: ['2.7'],
  FI_EFA_USE_UNSOLICITED_WRITE_RECV: ['2.0'],
  FI_EFA_ZCPY_RX_SEED: [undefined, '2.5'],
  FI_HMEM: ['1.20'],
  FI_HMEM_CUDA_ENABLE_XFER: [undefined, '1.18'],
  FI_HMEM_CUDA_USE_DMABUF: ['2.0'],
  FI_HMEM_NEURON_USE_DMABUF: ['2.5'],
  FI_HMEM_ROCR_USE_DMABUF: ['1.21'],
  FI_HMEM_SYNAPSEAI_USE_DMABUF: ['2.5'],
  FI_HMEM_ZE_USE_DMABUF: ['2.5'],
  FI_LNX_DISABLE_SHM: ['2.0'],
  FI_LNX_DUMP_STATS: ['2.2'],
  FI_LNX_MULTI_RAIL_SELECTION: ['2.5'],
  FI_LNX_PROV_LINKS: ['2.0'],
  FI_LNX_USE_SRQ: ['2.0', '2.1'],
  FI_LOG_LOCATION: ['2.5'],
  FI_LOG_LOCATION_MODE: ['2.5'],
  FI_OFFLOAD_COLL_PROVIDER: ['1.18'],
  FI_OFI_RXM_DETECT_HMEM_IFACE: ['1.21'],
  FI_OFI_RXM_EAGER_LIMIT: [undefined, '1.19'],
  FI_OFI_RXM_ENABLE_DYN_RBUF: [undefined, '1.19'],
  FI_OFI_RXM_RESCAN: ['2.2'],
  FI_PREFER_SYSCONFIG: ['1.18'],
  FI_ROCR_D2H_THRESHOLD: ['1.18'],
  FI_SHM_BUFFER_THRESHOLD: ['2.5'],
  FI_SHM_ENABLE_DSA_PAGE_TOUCH: [undefined, '1.21'],
  FI_SHM_MAX_GDRCOPY_SIZE: ['2.6'],
  FI_SHM_SAR_THRESHOLD: [undefined, '2.4'],
  FI_SHM_USE_XPMEM: ['1.20'],
  FI_TCP_DISABLE_AUTO_PROGRESS: ['1.18'],
  FI_TCP_FIREWALL_ADDR: ['2.2'],
  FI_TCP_IO_URING: ['1.18'],
  FI_TCP_MAX_INJECT: ['1.18'],
  FI_TCP_MAX_RX_SIZE: ['1.19'],
  FI_TCP_MAX_SAVED: ['1.18'],
  FI_TCP_MAX_SAVED_SIZE: ['1.19'],
  FI_TCP_PROV_NAME: ['1.18'],
  FI_TCP_TRACE_MSG: ['1.18'],
};

/** The names of these variables. */
export const VARYING: readonly string[] = Object.keys(RELEASES);

/** Which releases read such a variable: `'2.3 and newer'`; undefined if all do or none does. */
export function releasesOf(name: string): string | undefined {
  const [since, until] = RELEASES[name] ?? [];
  if (since === undefined) return until && `${until} and older`;
  return until === undefined ? `${since} and newer` : `${since} to ${until}`;
}

/** Whether a release reads such a variable. */
export function isReadBy(name: string, version: string): boolean {
  const [since = '0', until = version] = RELEASES[name] ?? ['999'];
  const digits = until.split('.').length; // 1.18.2 belongs to 1.18
  return atLeast(version, since) && atLeast(until, version.split('.').slice(0, digits).join('.'));
}
