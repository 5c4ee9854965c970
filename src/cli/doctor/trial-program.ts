// node trial-program.js DOMAIN: opens an endpoint of efa and sends a message to itself. Prints the
// result as JSON.
import { FabricError } from '../../base/errors.js';
import { open } from '../../open.js';
import { rdmaOf } from '../shared/rdma-support.js';
import type { TrialResult } from './machine.js';

const TIMEOUT = 10_000; // milliseconds for a message
const [domain] = process.argv.slice(2);

async function trial(): Promise<TrialResult> {
  const caps = ['FI_MSG', 'FI_RMA'] as const;
  const ep = await open({ provider: 'efa', caps, ...(domain !== undefined && { domain }) });
  const self = ep.av.insert(ep.address);
  const signal = AbortSignal.timeout(TIMEOUT);
  const exchange = [
    ep.recv(new Uint8Array(8), null, { signal }),
    ep.send(new Uint8Array(8), self, { signal }),
  ];
  await Promise.all(exchange);
  const rdma = rdmaOf(ep) ?? null;
  await ep.close();
  return { failure: null, rdma };
}

function failed(error: unknown): TrialResult {
  const { name, message } = error as Error;
  if (name === 'TimeoutError')
    return { failure: `no message within ${TIMEOUT / 1000} s`, rdma: null };
  if (!FabricError.is(error) || error.hint === undefined) return { failure: message, rdma: null };
  // The message ends with the hint.
  return { failure: message.replace(`; ${error.hint}`, ''), hint: error.hint, rdma: null };
}

const ended = await trial().catch(failed);
process.stdout.write(JSON.stringify(ended), () => process.exit());
