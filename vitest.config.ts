import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const dist = fileURLToPath(new URL('dist/', import.meta.url));
const belowDist = new RegExp(`^${dist.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`);

export default defineConfig({
  resolve: {
    alias: [
      { find: /^libfabric$/, replacement: `${dist}index.js` },
      { find: /^libfabric\/softefa$/, replacement: `${dist}softefa/index.js` },
      { find: /^libfabric\/verbs$/, replacement: `${dist}verbs/index.js` },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/own-namespace.ts'],
    // The package runs as it is shipped: Node imports dist/, vitest does not transform it.
    server: { deps: { external: [belowDist] } },
    // A process for each file. Together they wait more than they compute: for processes, timers, limits.
    pool: 'forks',
    maxWorkers: availableParallelism() + 1,
    // What ends a test that hangs: others on the machine may make one as slow as they like. Below what
    // test/reporter.ts waits for.
    testTimeout: 150_000,
    hookTimeout: 150_000,
    teardownTimeout: 10_000,
    reporters: ['default', './test/reporter.ts'],
  },
});
