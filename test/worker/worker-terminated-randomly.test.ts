// A worker may be terminated at any moment, even while the addon opens an object for it. Node-API calls then
// begin to fail.
import { describe, test } from 'vitest';
import { casesOf, slow } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';
import { seed } from '../support/seed.js';

// tcp has more rounds: its endpoints stay in the wait set of their queue, which crashed in one of 15
// terminations.
const all = [
  ['tcp', slow ? 32 : 12],
  ['shm', 12],
  ['udp', 12],
  ['efa', 12],
] as const;

describe.each(casesOf(all, ([provider]) => provider === 'tcp'))('%s', (provider, count) => {
  test(`${count} workers are terminated at random moments`, async () => {
    const expected = { stdout: `${count} ended, seed ${seed}` };
    await runCleanly('lifecycle-terminated', [provider, seed, count], expected);
  });
});
