import { bandwidth } from './shared/bandwidth.js';

/** fabtests' rdm_bw. */
export const rdmBandwidth = bandwidth('rdm-bw', 'FI_MSG', 'bandwidth of messages');
