// A write whose offer has ended fails. Prints 'alive' if its failure does not end the process, as an unhandled rejection
// does. Arguments: provider, how the program handles the transfer.
import { TransferEngine } from 'libfabric/transfer';

const [provider, how] = process.argv.slice(2);
const options = { provider, ...(provider === 'tcp' && { node: '127.0.0.1' }) };
const [a, b] = [await TransferEngine.open(options), await TransferEngine.open(options)];
const [from, into] = [await a.allocate(4096), await b.allocate(4096)];
const offer = await into.offer({ access: 'write', to: await b.peer(a.address) });
const remote = await a.peer(b.address);
await b.close();

const handle = () => {};
const ways = {
  'does nothing': () => {},
  'asks for the arrival': (transfer) => void transfer.arrived,
  'leaves its progress': async (transfer) => {
    for await (const _ of transfer.progress()) break;
  },
  'derives a promise': (transfer) => void transfer.then(handle),
  'handles the transfer': (transfer) => transfer.catch(handle),
  'handles the arrival': (transfer) => transfer.arrived.catch(handle),
  'handles both': (transfer) =>
    Promise.all([transfer.catch(handle), transfer.arrived.catch(handle)]),
  'asks for the arrival and handles the transfer': (transfer) => {
    void transfer.arrived;
    return transfer.catch(handle);
  },
  'handles the transfer and asks for the arrival': (transfer) => {
    const handled = transfer.catch(handle);
    void transfer.arrived;
    return handled;
  },
  'handles its progress': async (transfer) => {
    try {
      for await (const _ of transfer.progress());
    } catch {}
  },
};
const transfer = remote.write(from, offer.token, { timeout: 200 });
await ways[how](transfer);
await transfer.released;
// Node reports unhandled rejections before it runs this.
await new Promise(setImmediate);
await new Promise(setImmediate);
console.log('alive');
await a.close();
