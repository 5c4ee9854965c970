import { bandwidth } from './shared/bandwidth.js';

/** fabtests' rdm_tagged_bw. */
export const rdmTaggedBandwidth = bandwidth(
  'rdm-tagged-bw',
  'FI_TAGGED',
  'bandwidth of tagged messages',
);
