// Measures RMA reads of the client from the server.
import { runRma } from './rma.mjs';

await runRma('read', (ops, buffer, peer, remote) => ops.read(buffer, peer, remote));
