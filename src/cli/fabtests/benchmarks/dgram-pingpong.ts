import { pingpong } from './shared/pingpong.js';

/** fabtests' dgram_pingpong. */
export const dgramPingpong = pingpong('dgram-pingpong', 'FI_MSG', 'latency of datagrams', {
  type: 'FI_EP_DGRAM',
  oobSync: true,
  hostOnly: () => 'datagrams cannot use memory of a device; use rdm-pingpong',
});
