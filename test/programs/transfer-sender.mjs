// A transfer engine that writes (arguments: provider, nics, settings as JSON). Its parent sends { address }, which it answers with its
// own address, and then { token, length }: it writes that many bytes, and reports { written }, or { released } if the write
// has failed and none of its copies is in flight any more.
import { TransferEngine } from 'libfabric/transfer';

const [provider, nics, settings = '{}'] = process.argv.slice(2);
const engine = await TransferEngine.open({ provider, nics: Number(nics), ...JSON.parse(settings) });
let peer;
process.on('message', async ({ address, token, length }) => {
  if (address !== undefined) {
    peer = await engine.peer(address);
    process.send({ address: engine.address });
    return;
  }
  const memory = await engine.allocate(length);
  memory.bytes.fill(1);
  process.send({ begins: true });
  const transfer = peer.write(memory, token);
  await transfer.then(
    () => process.send({ written: true }),
    async () => {
      await transfer.released;
      process.send({ released: true });
    },
  );
});
process.send({ ready: true });
