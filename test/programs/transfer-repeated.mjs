// Prints how many transfers of a chain of repeat() are still in memory besides the last one (--expose-gc).
import { setImmediate as turn } from 'node:timers/promises';
import { TransferEngine } from 'libfabric/transfer';

const options = { provider: 'tcp', node: '127.0.0.1' };
const owner = await TransferEngine.open(options);
const writer = await TransferEngine.open(options);
const memory = await owner.allocate(4096);
const from = await writer.allocate(4096);
const to = await owner.peer(writer.address);
const remote = await writer.peer(owner.address);

const made = [];
async function repeat() {
  const offer = await memory.offer({ access: 'write', to, repeat: true });
  const arrivals = offer[Symbol.asyncIterator]();
  let transfer = remote.write(from, offer.token);
  for (let round = 0; round < 20; round++) {
    await arrivals.next();
    await transfer;
    made.push(new WeakRef(transfer));
    transfer = transfer.repeat();
  }
  await transfer;
  return { transfer };
}

const last = await repeat();
const kept = () => made.filter((each) => each.deref() !== undefined).length;
for (let i = 0; i < 100 && kept() > 0; i++) {
  await turn();
  globalThis.gc();
}
console.log(kept(), last.transfer.total);
await Promise.all([writer.close(), owner.close()]);
