import { test } from 'vitest';
import { casesOf, longCombinations } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';
import { drivers } from '../support/providers.js';

const datagrams = casesOf(drivers, (driver) => driver === 'thread').map((driver) => ({
  provider: 'udp',
  driver,
}));

// Freed memory is unmapped at once, so that a later access crashes the process.
const env = { MALLOC_MMAP_THRESHOLD_: '65536' };

test.for([...longCombinations, ...datagrams])(
  'operations complete in the memory of buffers that were detached and collected: $provider, $driver driver',
  async ({ provider, driver }) => {
    const expected = { stdout: 'complete' };
    const options = { node: ['--expose-gc'], env };
    await runCleanly('buffers-detached', [provider, driver], expected, options);
  },
);
