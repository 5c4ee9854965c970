// The usual cause of a multi-receive that the provider refuses: its buffer is too short.

import type { Failure } from '../engine/failure.js';
import type { EndpointBase } from './endpoint.js';
import type { Receiver } from './target.js';

const EINVAL = 22;

/** The failure of a multi-receive of `length` bytes, with the reason if its buffer was too short. */
export function withReason(failure: Failure, endpoint: Receiver, length: number): Failure {
  if (failure.errno !== EINVAL || failure.syscall !== 'fi_recvmsg') return failure;
  const least = leastOf(endpoint as EndpointBase);
  if (least === undefined || length >= least) return failure;
  return {
    ...failure,
    text: `the buffer has ${length} bytes, fewer than FI_OPT_MIN_MULTI_RECV (${least})`,
    hint: `give multiRecv() at least ${least} bytes, or lower the option to the longest message: options of open(), or endpoint.setOption('FI_OPT_MIN_MULTI_RECV', bytes)`,
  };
}

function leastOf(endpoint: EndpointBase): number | undefined {
  try {
    return Number(endpoint.getOption('FI_OPT_MIN_MULTI_RECV'));
  } catch {
    return undefined; // the endpoint is closed
  }
}
