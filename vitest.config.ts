import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const dist = fileURLToPath(new URL('dist/', import.meta.url));
const belowDist = new RegExp(`^${dist.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`);

export default defineConfig({
  resolve: {
    alias: [
      { find: /^libfabric$/, replacement: `${dist}index.js` },
      { find: /^libfabric\/cuda$/, replacement: `${dist}cuda/index.js` },
      { find: /^libfabric\/neuron$/, replacement: `${dist}neuron/index.js` },
      { find: /^libfabric\/rocr$/, replacement: `${dist}rocr/index.js` },
      { find: /^libfabric\/softefa$/, replacement: `${dist}softefa/index.js` },
      { find: /^libfabric\/synapseai$/, replacement: `${dist}synapseai/index.js` },
      { find: /^libfabric\/transfer$/, replacement: `${dist}transfer/index.js` },
      { find: /^libfabric\/verbs$/, replacement: `${dist}verbs/index.js` },
      { find: /^libfabric\/ze$/, replacement: `${dist}ze/index.js` },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: [
      'test/support/own-namespace.ts',
      'test/support/small-queues.ts',
      'test/support/costs.ts',
    ],
    // The package runs as it is shipped: Node imports dist/, vitest does not transform it.
    server: { deps: { external: [belowDist] } },
    // One process per file. There are more processes than cores, because tests mostly wait for processes and
    // timers.
    pool: 'forks',
    maxWorkers: availableParallelism() + 1,
    // Time limits of a hanging test. They are long because the machine may be busy.
    testTimeout: 150_000,
    hookTimeout: 150_000,
    teardownTimeout: 10_000,
    reporters: ['default', './test/reporter.ts'],
  },
});
