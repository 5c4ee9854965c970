// An object server over tcp: `object-server.mjs ROOT`. Sends its URL to its parent.
import { createObjectServer } from 'libfabric/objects';
import { TransferEngine } from 'libfabric/transfer';

const engine = await TransferEngine.open({ provider: 'tcp', node: '127.0.0.1' });
const server = await createObjectServer(process.argv[2], { engine, durable: false });
process.send(await server.listen());
