import { pingpong } from './shared/pingpong.js';

/** fabtests' rdm_tagged_pingpong. */
export const rdmTaggedPingpong = pingpong(
  'rdm-tagged-pingpong',
  'FI_TAGGED',
  'latency of tagged messages',
);
