import { describe, test } from 'vitest';
import { DRIVERS, PROVIDERS, runCleanly } from '../support/lifecycle.js';

// What is freed is unmapped at once, and whoever writes there dies.
const env = { MALLOC_MMAP_THRESHOLD_: '65536' };

describe.each([...PROVIDERS, 'udp'])('%s', (provider) => {
  test.each(DRIVERS)(
    'operations go on in the memory of buffers that are detached and collected: %s driver',
    async (driver) => {
      const expected = { stdout: 'all there' };
      const options = { node: ['--expose-gc'], env };
      await runCleanly('buffers-detached', [provider, driver], expected, options);
    },
  );
});
