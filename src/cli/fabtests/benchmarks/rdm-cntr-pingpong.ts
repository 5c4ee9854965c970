import { pingpong } from './shared/pingpong.js';

/** fabtests' rdm_cntr_pingpong. */
export const rdmCounterPingpong = pingpong(
  'rdm-cntr-pingpong',
  'FI_MSG',
  'latency of messages, completed by counters',
  {
    counters: true,
    needs: () => ({ caps: ['FI_MSG'], tx: { tclass: 'FI_TC_LOW_LATENCY' }, counters: true }),
  },
);
