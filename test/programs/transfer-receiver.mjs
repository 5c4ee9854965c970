// A transfer engine that offers memory (arguments: provider, nics, settings as JSON). Its parent sends messages:
// { address }: makes the parent's engine a peer, and answers with its own address
// { offer, length }: offers so many bytes, for reads with { access: 'read' }, answers { token }, then { arrived: hash }
// or { failed: code }, then { released }
// { block }: blocks its event loop for so many milliseconds, and answers { blocked }
import { createHash } from 'node:crypto';
import { TransferEngine } from 'libfabric/transfer';

const [provider, nics, settings = '{}'] = process.argv.slice(2);
const engine = await TransferEngine.open({ provider, nics: Number(nics), ...JSON.parse(settings) });
const tell = (message) => process.connected && process.send(message);
let peer;

async function offer({ offer: id, length, access = 'write', expires = 30_000 }) {
  const memory = await engine.allocate(length);
  const offered = await memory.offer({ access, to: peer, expires });
  tell({ id, token: offered.token });
  await offered.arrived.then(
    ({ bytes }) => tell({ id, arrived: createHash('sha1').update(bytes).digest('hex') }),
    ({ code }) => tell({ id, failed: code }),
  );
  await offered.released;
  tell({ id, released: true });
  await memory.close();
}

process.on('message', async (message) => {
  if (message.address !== undefined) {
    peer = await engine.peer(message.address);
    tell({ address: engine.address });
  } else if (message.offer !== undefined) {
    await offer(message);
  } else if (message.block !== undefined) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, message.block);
    tell({ blocked: true });
  } else {
    await engine.close();
    tell({ closed: true });
    process.disconnect();
  }
});
tell({ ready: true });
