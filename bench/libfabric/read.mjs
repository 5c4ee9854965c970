// RMA reads, client from server.
import { runRma } from './rma.mjs';

await runRma('read', (ops, buffer, peer, remote) => ops.read(buffer, peer, remote));
