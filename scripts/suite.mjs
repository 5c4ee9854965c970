// `npm run suite -- NAME [arguments]`: runs one of the suites beside `npm test`, or without a name lists them. The last line
// is always `N passed, N failed[, N skipped]`.
import { join } from 'node:path';
import { root, SetupError } from './setup/step.mjs';
import { setup } from './setup.mjs';
import { conclude, tallyOf } from './tally.mjs';
import { vitest } from './vitest.mjs';

/** A suite that is a program of test/, after the setup. */
const program =
  (file, ...options) =>
  async (args) => {
    await setup();
    return tallyOf(process.execPath, [...options, join(root, file), ...args]);
  };

/** A suite in a module of its own. */
const module = (name) => async (args) => (await import(`./suites/${name}.mjs`)).default(args);

/** A suite of test files. */
const files = (names, env) => async (args) => {
  await setup();
  return vitest([...names, ...args], env);
};

/** Each suite: its arguments, what it does, and how it runs. */
const SUITES = {
  all: [
    "[vitest's arguments]",
    'npm test and slow, with a process for each command and queues of the default size',
    files([], { LIBFABRIC_TESTS: 'all', LIBFABRIC_TEST_QUEUES: 'default' }),
  ],
  asan: [
    "[vitest's arguments]",
    'npm test with AddressSanitizer and UndefinedBehaviorSanitizer',
    module('asan'),
  ],
  efa: [
    '[--stack STACK] [--fabtests DIR] [CONDITION]',
    'efa under another condition, or with another libfabric and rdma-core',
    module('efa'),
  ],
  ends: [
    '[--rounds N] [--seed TEXT] [--provider NAME] [--only N]',
    'ends peers, workers and processes at random moments',
    program('test/ends/main.mjs'),
  ],
  engine: [
    '[--rounds N] [--sanitizer NAME] [PART]',
    "the engine and transfers without Node.js, with clang's sanitizers",
    module('engine'),
  ],
  fabtests: [
    "DIR [pytest's arguments]",
    "AWS's own efa tests, from the fabtests 2 in that folder",
    module('fabtests'),
  ],
  faults: [
    '[calls | verbs | simulation] [OPTION ...]',
    'fails each call of libfabric and verbs, then random programs with faults',
    module('faults'),
  ],
  fuzz: [
    '[--seconds N] [--runs N] [NAME ...]',
    'libFuzzer on everything that takes bytes from outside',
    module('fuzz'),
  ],
  gpu: [
    "[vitest's arguments]",
    'GPU memory with a CUDA driver and an EFA; says what is missing',
    files(['test/gpu']),
  ],
  hmem: [
    "[vitest's arguments]",
    'device memory by FI_HMEM, over fakes of CUDA, GDRCopy and Neuron',
    module('hmem'),
  ],
  includes: ['', 'compiles each file and header of the C++ alone', module('includes')],
  lint: ['[--without-analyzer] [FILE ...]', 'clang-tidy on the C++', module('lint')],
  matrix: [
    '[NAME ...]',
    'unprivileged users, little memory, bare containers, arm64 in QEMU',
    module('matrix'),
  ],
  node: [
    "[RELEASE [vitest's arguments]]",
    'memory, lifetimes, workers and packaging on other releases of Node.js',
    module('node'),
  ],
  'node-core': [
    '[net|http|http2|tls] [--provider P] [--verbose] [FILE ...]',
    'the tests of Node.js itself over libfabric/net',
    module('node-core'),
  ],
  prebuild: ['', "compiles the package's binaries for the other architecture", module('prebuild')],
  runtimes: ['', 'small programs on Bun and Deno', module('runtimes')],
  servers: [
    "[vitest's arguments]",
    'redis, PostgreSQL and mosquitto over libfabric/net; etcd and redis as directories; curl with libfabric/objects',
    module('servers'),
  ],
  slow: [
    "[vitest's arguments]",
    'the tests that npm test leaves out, and all with queues of the default size',
    files([], { LIBFABRIC_TESTS: 'slow', LIBFABRIC_TEST_QUEUES: 'default' }),
  ],
  soak: [
    '[--minutes N] [--churn N] [--json FILE]',
    'a mixed load with peers that come and go: does the process grow?',
    program('test/soak/main.mjs', '--expose-gc'),
  ],
  valgrind: ['', 'softefa, and the engine without Node.js, with memcheck', module('valgrind')],
};

const lineOf = (name, [args, title]) => `npm run suite -- ${`${name} ${args}`.padEnd(54)} ${title}`;

function runSuite(name, args) {
  if (!Object.hasOwn(SUITES, name)) {
    throw new SetupError(`there is no suite ${name}, only ${Object.keys(SUITES).join(', ')}`);
  }
  const [takes, , run] = SUITES[name];
  if (takes === '' && args.length > 0) {
    throw new SetupError(`the suite ${name} takes no arguments, but there is ${args[0]}`);
  }
  return run(args);
}

const isHelp = (word) => word === '--help' || word === '-h';

const [name, ...args] = process.argv.slice(2);
const asked = Object.hasOwn(SUITES, name ?? '') && args.some(isHelp);
if (asked) console.log(lineOf(name, SUITES[name]));
else if (name === undefined || isHelp(name)) {
  for (const [name, suite] of Object.entries(SUITES)) console.log(lineOf(name, suite));
} else await conclude(async () => runSuite(name, args));
