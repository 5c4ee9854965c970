// Sends a part of a stream to the server whose URL is the argument, and goes on for ever.
import { transferClient } from 'libfabric/http';
import { TransferEngine } from 'libfabric/transfer';

const engine = await TransferEngine.open({ provider: 'tcp', node: '127.0.0.1' });
const { peer, tokens } = await transferClient(engine).fetch(process.argv[2]);
peer.writable(tokens[0]).write(Buffer.alloc(100_000));
setInterval(() => {}, 1000);
