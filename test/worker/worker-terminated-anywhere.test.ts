// A worker may be terminated at any moment: while the addon opens something for it, too, when calls
// of Node-API begin to fail half-way.
import { describe, test } from 'vitest';
import { runCleanly } from '../support/lifecycle.js';

const seed = Number(process.env.SEED ?? Math.trunc(Math.random() * 2 ** 31));

// tcp's endpoints stay in the wait set of their queue: it crashed in one of 15 terminations.
describe.each([
  ['tcp', 32],
  ['shm', 12],
  ['udp', 12],
  ['efa', 12],
])('%s', (provider, count) => {
  test(`${count} workers are terminated at random moments`, async () => {
    const expected = { stdout: `${count} ended, seed ${seed}` };
    await runCleanly('lifecycle-terminated', [provider, seed, count], expected);
  });
});
