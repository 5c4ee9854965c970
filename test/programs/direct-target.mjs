// The target of RMA over efa-direct: prints its address and its memory. Inserts each address that it reads.
import { createInterface } from 'node:readline';
import { open } from 'libfabric';

const ep = await open({ provider: 'efa', fabric: 'efa-direct', caps: ['FI_MSG', 'FI_RMA'] });
const region = await ep.domain.allocate(64, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
const text = (bytes) => Buffer.from(bytes).toString('hex');
console.log(`${text(ep.address)} ${text(region.descriptor())}`);
for await (const line of createInterface({ input: process.stdin })) {
  ep.av.insert(Buffer.from(line, 'hex'));
  console.log('inserted');
}
await ep.close();
