// Measures RMA writes of the client to the server.
import { runRma } from './rma.mjs';

await runRma('write', (ops, buffer, peer, remote) => ops.write(buffer, peer, remote));
