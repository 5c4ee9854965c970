// node trial-program.js DOMAIN: opens an endpoint of efa and sends a message to itself. Prints as
// JSON whether the device carries out its reads and writes. On a failure it prints the reason and
// exits with 1.
import { FabricError } from '../../errors.js';
import { open } from '../../open.js';
import { rdmaOf } from '../shared/rdma-support.js';

const TIMEOUT = 10_000; // milliseconds for a message
const [domain] = process.argv.slice(2);

try {
  const caps = ['FI_MSG', 'FI_RMA'] as const;
  const ep = await open({ provider: 'efa', caps, ...(domain !== undefined && { domain }) });
  const self = ep.av.insert(ep.address);
  const signal = AbortSignal.timeout(TIMEOUT);
  const exchange = [
    ep.recv(new Uint8Array(8), null, { signal }),
    ep.send(new Uint8Array(8), self, { signal }),
  ];
  await Promise.all(exchange);
  process.stdout.write(JSON.stringify(rdmaOf(ep) ?? null));
  await ep.close();
} catch (error) {
  const { name, message } = error as Error;
  const hint = FabricError.is(error) && error.hint ? ` (${error.hint})` : '';
  const text = name === 'TimeoutError' ? `no message within ${TIMEOUT / 1000} s` : message + hint;
  process.stdout.write(text, () => process.exit(1));
}
