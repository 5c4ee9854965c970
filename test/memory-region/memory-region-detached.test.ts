import { describe, test } from 'vitest';
import { DRIVERS, PROVIDERS, runCleanly } from '../support/lifecycle.js';

// Freed memory is unmapped at once, so that a later access crashes the process.
const env = { MALLOC_MMAP_THRESHOLD_: '65536' };

describe.each([...PROVIDERS, 'udp'])('%s', (provider) => {
  test.each(DRIVERS)(
    'operations complete in the memory of buffers that were detached and collected: %s driver',
    async (driver) => {
      const expected = { stdout: 'complete' };
      const options = { node: ['--expose-gc'], env };
      await runCleanly('buffers-detached', [provider, driver], expected, options);
    },
  );
});
