// `npm run suite -- node-core [net|http|http2|tls] [--provider P] [FILE ...]`: runs the tests of Node.js itself, of the source
// package of Debian, over the sockets of libfabric/net. A test that fails with plain Node.js says nothing. Each other test
// must pass, or be listed with the reason why it cannot apply (node-core/listed.mjs).
import { oneOf, readOptions } from '../options.mjs';
import { SetupError } from '../setup/step.mjs';
import { setup } from '../setup.mjs';
import { sum } from '../tally.mjs';
import { LISTED } from './node-core/listed.mjs';
import { Outcomes } from './node-core/outcomes.mjs';
import { fetchTests } from './node-core/source.mjs';

const PARTS = Object.keys(LISTED);
const OPTIONS = {
  provider: { value: 'NAME', read: oneOf(['shm', 'tcp', 'efa', 'duplex']), default: 'shm' },
  verbose: {},
};

/** Whether a test is of a part: test-net-a.js is of net, test-http2-a.js is not of http. */
const isOf = (part) => (file) => file.startsWith(`test-${part}-`);

/** A test by its name, or by its path. */
const nameOf = (argument) => argument.split('/').at(-1);

function chosen(tests, positionals) {
  const parts = PARTS.filter((part) => positionals.includes(part));
  const names = positionals.filter((each) => !parts.includes(each)).map(nameOf);
  const unknown = names.find((name) => !tests.files.includes(name));
  if (unknown)
    throw new SetupError(
      `there is no part and no test ${unknown}; the parts are ${PARTS.join(', ')}`,
    );
  return (parts.length > 0 ? parts : PARTS).flatMap((part) => {
    const files = tests.files.filter(isOf(part));
    const wanted = names.length > 0 ? files.filter((file) => names.includes(file)) : files;
    return wanted.length > 0 ? [{ part, files: wanted }] : [];
  });
}

export default async function nodeCore(args) {
  const { values, positionals } = readOptions(OPTIONS, args, true);
  await setup();
  const tests = await fetchTests();
  if (tests.version.split('.')[0] !== process.version.split('.')[0])
    console.log(`the tests are of Node.js ${tests.version}, and this is ${process.version}`);
  const tallies = [];
  for (const { part, files } of chosen(tests, positionals)) {
    const outcomes = new Outcomes(tests, part, values.provider);
    await outcomes.run(files);
    tallies.push(outcomes.report(values.verbose));
  }
  return sum(...tallies);
}
