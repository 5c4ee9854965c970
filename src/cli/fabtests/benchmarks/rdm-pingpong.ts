import { pingpong } from './shared/pingpong.js';

/** fabtests' rdm_pingpong. */
export const rdmPingpong = pingpong('rdm-pingpong', 'FI_MSG', 'latency of messages');
