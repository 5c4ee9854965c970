// Measures RMA writes in both directions at the same time.
import { runRma } from './rma.mjs';

await runRma('write-both', (ops, buffer, peer, remote) => ops.write(buffer, peer, remote), {
  bothDirections: true,
});
