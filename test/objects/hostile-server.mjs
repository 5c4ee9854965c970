// An object server with an engine, in a process whose memory a test looks at. It sends its URL to its parent.
import { createObjectServer } from 'libfabric/objects';
import { TransferEngine } from 'libfabric/transfer';

const engine = await TransferEngine.open({ provider: 'tcp', node: '127.0.0.1' });
const server = await createObjectServer(process.argv[2], { engine, durable: false, keep: 5000 });
process.send(await server.listen());
process.on('disconnect', () => process.exit());
process.on('message', () => {
  globalThis.gc(); // an idle process would collect what it has dropped minutes later
  process.send(process.memoryUsage());
});
