// libfabric/objects in a worker thread, which watches the descriptors that node:fs opens and closes.
import { test } from 'vitest';
import { runCleanly } from '../support/lifecycle.js';

test('a server in a worker closes its descriptors as it has opened them', async () => {
  await runCleanly('objects-worker', [], { stdout: 'no warnings' });
});
