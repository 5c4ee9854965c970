import type { Session } from './session.js';

const REMOTE_DATA = 0x0123_4567_89ab_cdefn;

/** The data that fabtests send along: as much of it as the provider carries. */
export function remoteData({ ep }: Session): bigint {
  return BigInt.asUintN(Math.min(ep.limits.remoteData, 8) * 8, REMOTE_DATA);
}
