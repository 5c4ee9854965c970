// Measures tagged messages.
import { runMessages } from './messages.mjs';

const TAG = 7;

await runMessages('tsend', {
  send: (ops, buffer, peer) => ops.tsend(buffer, peer, TAG),
  recv: (ops, buffer) => ops.trecv(buffer, null, TAG, 0),
});
