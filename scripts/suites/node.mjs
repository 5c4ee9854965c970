// `npm run suite -- node [RELEASE [vitest's arguments]]`: repeats the tests of memory, lifetimes, workers and packaging on
// the other releases of Node.js, or on one of them. The binaries come from the npm registry and are installed on first
// use.
import { SetupError } from '../setup/step.mjs';
import { setup } from '../setup.mjs';
import { installNode } from '../stack/node.mjs';
import { sum } from '../tally.mjs';
import { vitest } from '../vitest.mjs';

const RELEASES = [20, 22, 24, 26];
const FILES = [
  'domain/domain-collected',
  'endpoint/endpoint-released',
  'memory-region/memory-region-buffers',
  'memory-region/memory-region-detached',
  'memory-region/memory-region-fallback',
  'memory-region/memory-region-shared',
  'memory-region/memory-region-views',
  'net/net-messaging',
  'net/net-socket',
  'net/net-web',
  'package/package-install',
  'package/package-permission',
  'process/process-exit-natural',
  'worker/worker-terminate',
];

// Several releases in turn run only the tests of the default driver. A single release runs all drivers.
const DEFAULT_DRIVER = ['-t', "^(?!.*(loop|manual)'? driver)"];

// .ci/run asks for the quick tests.
const { LIBFABRIC_TESTS = 'all' } = process.env;

async function runOn(release, args) {
  const files = FILES.map((name) => `test/${name}.`);
  const tally = await vitest([...files, ...args], { LIBFABRIC_TESTS }, installNode(release));
  console.log(`Node.js ${release}: ${tally.passed} passed, ${tally.failed} failed`);
  return tally;
}

export default async function node([first, ...rest]) {
  if (/^\d+$/.test(first) && !RELEASES.includes(Number(first))) {
    throw new SetupError(`there is no Node.js ${first} here, only ${RELEASES.join(', ')}`);
  }
  await setup();
  if (RELEASES.includes(Number(first))) return runOn(Number(first), rest);
  const running = Number.parseInt(process.versions.node, 10); // `npm test` runs on this one
  const given = first === undefined ? [] : [first, ...rest];
  const tallies = [];
  for (const release of RELEASES.filter((each) => each !== running)) {
    tallies.push(await runOn(release, [...DEFAULT_DRIVER, ...given]));
  }
  return sum(...tallies);
}
