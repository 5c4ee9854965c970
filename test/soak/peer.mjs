// A peer that comes and goes (argument: provider). For each { address, descriptor } from its parent it opens an
// endpoint, exchanges messages with the parent's and writes and reads its region, closes, and tells the bytes.
import { open } from 'libfabric';
import { bytesOf, isOf } from '../faults/simulation/bytes.mjs';
import { optionsOf } from './load.mjs';

const SIZES = [64, 5000, 300_000];
const wait = { timeout: 20_000 };
// A read may overtake a write that is not delivered.
const delivered = { ...wait, flags: ['FI_DELIVERY_COMPLETE'] };

process.on('message', async ({ address, descriptor }) => {
  const endpoint = await open(optionsOf(process.argv[2]));
  process.send({ address: endpoint.address });
  const [peer, remote] = [endpoint.av.insert(address), endpoint.domain.remote(descriptor)];
  let bytes = 0;
  for (const [i, size] of SIZES.entries()) {
    const into = new Uint8Array(size);
    const received = endpoint.trecv(into, null, i, 0, wait);
    await endpoint.tsend(bytesOf(i, size), peer, i, wait);
    await received;
    await endpoint.write(bytesOf(i + 10, size), peer, remote, delivered);
    const back = new Uint8Array(size);
    await endpoint.read(back, peer, remote, wait);
    if (!isOf(i, into) || !isOf(i + 10, back)) throw new Error(`other bytes of ${size}`);
    bytes += 4 * size;
  }
  await endpoint.close();
  process.send({ bytes });
});
process.on('disconnect', () => process.exit());
