import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { filesByKind, type Kind } from './test/processes.js';

const dist = fileURLToPath(new URL('dist/', import.meta.url));
const belowDist = new RegExp(`^${dist.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`);

const cores = availableParallelism();

type Options = NonNullable<TestProjectInlineConfiguration['test']>;

const project = (kind: Kind, options: Options): TestProjectInlineConfiguration => ({
  extends: true,
  test: { name: kind, include: filesByKind[kind], ...options },
});

export default defineConfig({
  resolve: {
    alias: [
      { find: /^libfabric$/, replacement: `${dist}index.js` },
      { find: /^libfabric\/cuda$/, replacement: `${dist}cuda/index.js` },
      { find: /^libfabric\/directory$/, replacement: `${dist}directory/index.js` },
      { find: /^libfabric\/net$/, replacement: `${dist}net/index.js` },
      { find: /^libfabric\/neuron$/, replacement: `${dist}neuron/index.js` },
      { find: /^libfabric\/objects$/, replacement: `${dist}objects/index.js` },
      { find: /^libfabric\/softefa$/, replacement: `${dist}softefa/index.js` },
      { find: /^libfabric\/transfer$/, replacement: `${dist}transfer/index.js` },
      { find: /^libfabric\/efa$/, replacement: `${dist}efa/index.js` },
      { find: /^libfabric\/verbs$/, replacement: `${dist}verbs/index.js` },
    ],
  },
  test: {
    setupFiles: [
      'test/support/own-namespace.ts',
      'test/support/small-queues.ts',
      'test/support/quiet.ts',
      'test/support/costs.ts',
      'test/support/call-hooks.ts',
    ],
    // The package runs as it is shipped: Node imports dist/, vitest does not transform it.
    server: { deps: { external: [belowDist] } },
    projects: [
      project('unit', { isolate: false }),
      project('plain', { isolate: false }),
      project('softefa', { isolate: false }),
      project('own', {}),
      // After the others: more of them than cores would wait for scheduler slices of 4 ms.
      project('polling', { sequence: { groupOrder: 1 } }),
    ],
    pool: 'forks',
    // More processes than cores, because tests mostly wait for processes and timers: libfabric of Debian 12 takes 0.2 s
    // to load without using a core.
    maxWorkers: 2 * cores + 1,
    // Time limits of a hanging test. They are long because the machine may be busy.
    testTimeout: 150_000,
    hookTimeout: 150_000,
    teardownTimeout: 10_000,
    reporters: ['default', './test/reporter.ts'],
  },
});
