import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const dist = fileURLToPath(new URL('dist/', import.meta.url));
const belowDist = new RegExp(`^${dist.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`);

/** The files of the tier in LIBFABRIC_TESTS: test/support/cases.ts. */
function filesOfTier(): string[] {
  if (process.env.LIBFABRIC_TESTS === 'all') return ['test/**/*.test.ts'];
  if (process.env.LIBFABRIC_TESTS !== 'slow') return ['test/**/!(*.slow).test.ts'];
  const names = readdirSync('test', { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.test.ts')).map((name) => `test/${name}`);
  const hasCases = (file: string) => readFileSync(file, 'utf8').includes("support/cases.js'");
  return files.filter((file) => file.endsWith('.slow.test.ts') || hasCases(file));
}

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
    include: filesOfTier(),
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
