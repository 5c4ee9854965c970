// RMA writes, client to server.
import { runRma } from './rma.mjs';

await runRma('write', (ops, buffer, peer, remote) => ops.write(buffer, peer, remote));
