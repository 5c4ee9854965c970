// Mixed load over one provider: peers of other processes come, exchange messages, write, read, transfer, and go.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';
import { isOf } from '../faults/simulation/bytes.mjs';

/** efa keeps the state of removed peers until the vector closes (docs/provider-limits.md), and shm has room for 256. */
const PEERS_OF_AN_ENDPOINT = 40;
const PEERS_OF_A_PROCESS = 200;
const REGION = 2 ** 20;
const SIZES = [64, 5000, 300_000];
const TRANSFER = { id: 20, bytes: 700_000 };
const wait = { timeout: 20_000 };

export const optionsOf = (provider) => ({
  provider,
  caps: ['FI_TAGGED', 'FI_RMA'],
  ...(provider === 'tcp' && { node: '127.0.0.1' }),
});

export const transferOptionsOf = ({ provider, node }) => ({
  provider,
  ...(node && { node }),
  nics: 1,
  mapMemory: false,
});

const program = fileURLToPath(new URL('peer.mjs', import.meta.url));

async function answer(endpoint, address) {
  const peer = endpoint.av.insert(address);
  for (const [i, size] of SIZES.entries()) {
    const buffer = new Uint8Array(size);
    await endpoint.trecv(buffer, null, i, 0, wait);
    await endpoint.tsend(buffer, peer, i, wait);
  }
  return peer;
}

/** Offers memory to the engine of a peer, and checks what arrives. */
async function offer(engine, engineAddress, child) {
  const peer = await engine.peer(engineAddress);
  const memory = await engine.allocate(TRANSFER.bytes);
  const made = await memory.offer({ access: 'write', to: peer });
  child.send({ token: made.token, engineAddress: engine.address, ...TRANSFER });
  const { bytes } = await made.arrived;
  if (!isOf(TRANSFER.id, bytes)) throw new Error('other bytes of a transfer');
  await made.released;
  await memory.close();
  await peer.close();
}

/** Runs while `goesOn()` is true. Adds to `sum.peers` and `sum.bytes`. */
export async function load(provider, env, goesOn, sum) {
  let child;
  for (let peers = 0; goesOn(); ) {
    const endpoint = await open(optionsOf(provider));
    const engine = await TransferEngine.open(transferOptionsOf(optionsOf(provider)));
    const region = await endpoint.domain.allocate(REGION, ['FI_REMOTE_WRITE', 'FI_REMOTE_READ']);
    for (let i = 0; i < PEERS_OF_AN_ENDPOINT && goesOn(); i++, peers++) {
      if (peers % PEERS_OF_A_PROCESS === 0) {
        child?.disconnect();
        child = fork(program, [provider], { env, serialization: 'advanced' });
        child.on('exit', (code) => {
          if (code !== 0) throw new Error(`a peer of ${provider} has ended with ${code}`);
        });
      }
      const hear = () => once(child, 'message').then(([value]) => value);
      child.send({ address: endpoint.address, descriptor: region.descriptor() });
      const { address, engineAddress } = await hear();
      const peer = await answer(endpoint, address);
      await offer(engine, engineAddress, child);
      sum.bytes += (await hear()).bytes;
      sum.peers++;
      await endpoint.av.remove(peer);
    }
    await region.close();
    await engine.close();
    await endpoint.close();
  }
  child?.disconnect();
}
