import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

const dist = fileURLToPath(new URL('dist/', import.meta.url));
const belowDist = new RegExp(`^${dist.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`);

const filesOf = (suffix: string): string[] =>
  readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(suffix))
    .map((name) => `test/${name}`);

/** The files of the tier in LIBFABRIC_TESTS: test/support/cases.ts. */
function filesOfTier(): string[] {
  const files = filesOf('.test.ts');
  const isSlow = (file: string) => file.endsWith('.slow.test.ts');
  if (process.env.LIBFABRIC_TESTS === 'all') return files;
  if (process.env.LIBFABRIC_TESTS !== 'slow') return files.filter((file) => !isSlow(file));
  const hasCases = (file: string) => readFileSync(file, 'utf8').includes("support/cases.js'");
  return files.filter((file) => isSlow(file) || hasCases(file));
}

const files = filesOfTier();
const cores = availableParallelism();
/** Commands whose two sides poll, each on its core. */
const POLLING = /^test\/cli\/(cli-start|transfer\/|fabtests\/(benchmarks|common|functional)\/)/;
const polls = (file: string) => POLLING.test(file);
const isUnit = (file: string) => file.endsWith('.unit.test.ts');

type Options = NonNullable<TestProjectInlineConfiguration['test']>;

const project = (name: string, test: Options): TestProjectInlineConfiguration => ({
  extends: true,
  test: { name, ...test },
});

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
    setupFiles: [
      'test/support/own-namespace.ts',
      'test/support/small-queues.ts',
      'test/support/quiet.ts',
      'test/support/costs.ts',
    ],
    // The package runs as it is shipped: Node imports dist/, vitest does not transform it.
    server: { deps: { external: [belowDist] } },
    // Tests without a provider share processes, all others have one for each file.
    projects: [
      project('unit', { include: files.filter(isUnit), isolate: false }),
      project('provider', { include: files.filter((file) => !isUnit(file) && !polls(file)) }),
      // After the others, and fewer at a time: more of them than cores would wait for scheduler slices of 4 ms.
      project('polling', {
        include: files.filter((file) => !isUnit(file) && polls(file)),
        maxWorkers: 2 * cores + 1,
        sequence: { groupOrder: 1 },
      }),
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
