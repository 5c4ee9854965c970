// A peer that comes and goes (argument: provider). For each { address, descriptor } from its parent it opens an
// endpoint and a transfer engine, exchanges messages with the parent's, writes and reads its region, transfers to its
// engine, closes, and reports the number of bytes.
import { once } from 'node:events';
import { open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';
import { bytesOf, isOf } from '../faults/simulation/bytes.mjs';
import { optionsOf, transferOptionsOf } from './load.mjs';

const SIZES = [64, 5000, 300_000];
const wait = { timeout: 20_000 };
// A read may overtake a write that is not delivered.
const delivered = { ...wait, flags: ['FI_DELIVERY_COMPLETE'] };

const options = optionsOf(process.argv[2]);

/** Writes to the memory that the parent has offered. */
async function transfer(engine, { token, engineAddress, id, bytes }) {
  const peer = await engine.peer(engineAddress);
  const memory = await engine.register(bytesOf(id, bytes));
  await peer.write(memory, token);
  await memory.close();
  await engine.close();
  return bytes;
}

async function visit({ address, descriptor }) {
  const endpoint = await open(options);
  const engine = await TransferEngine.open(transferOptionsOf(options));
  process.send({ address: endpoint.address, engineAddress: engine.address });
  const offered = once(process, 'message');
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
  bytes += await transfer(engine, (await offered)[0]);
  await endpoint.close();
  process.send({ bytes });
}

process.on('message', (message) => {
  if ('descriptor' in message) visit(message);
});
process.on('disconnect', () => process.exit());
