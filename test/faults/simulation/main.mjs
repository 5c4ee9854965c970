// `npm run suite -- faults simulation [--seed TEXT] [--minutes 2] [--provider NAME] [--profile mixed | bulk]`
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { SoftefaFaults } from 'libfabric/softefa';
import { randomOf } from '../../ends/plan.mjs';
import { PROVIDERS, programOf } from './plan.mjs';
import { Pool } from './pool.mjs';
import { run } from './run.mjs';
import { shrink } from './shrink.mjs';
import { Totals } from './totals.mjs';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string', default: '2' },
    programs: { type: 'string' },
    provider: { type: 'string', multiple: true, default: PROVIDERS },
    profile: { type: 'string', default: 'mixed' },
    only: { type: 'string' },
    'shrink-seconds': { type: 'string', default: '60' },
    verbose: { type: 'boolean', default: false },
  },
});

const seed = options.seed ?? String(Date.now() % 1_000_000);
const end = performance.now() + Number(options.minutes) * 60_000;
const most = options.only === undefined ? Number(options.programs ?? Number.POSITIVE_INFINITY) : 1;
const namespace = `faults-${randomBytes(4).toString('hex')}`;
const softefa = new SoftefaFaults({ namespace });
const pool = new Pool(namespace);
const totals = new Totals();
console.log(`seed ${seed}`);

const runOnce = async (program) => {
  softefa.clear();
  softefa.set({ seed: 1 + Math.floor(randomOf(program.seed)() * 1e9) });
  return run(program, pool, softefa);
};

while (totals.programs < most && performance.now() < end) {
  const number = Number(options.only ?? totals.programs);
  const program = programOf(`${seed}/${number}`, options.provider, options.profile);
  const began = performance.now();
  const outcome = await runOnce(program);
  totals.add(outcome);
  if (options.verbose) {
    const { provider, drivers, rounds } = program;
    const took = ((performance.now() - began) / 1000).toFixed(1);
    const kinds = rounds.flatMap((round) => round.faults.map(({ kind }) => kind));
    const gigabytes = (outcome.bytes / 1e9).toFixed(3);
    console.log(
      `${number}: ${provider} ${drivers} ${outcome.operations} operations, ${gigabytes} GB, ${kinds}: ${took} s`,
    );
    if (number % 10 === 9) console.log(String(totals));
  }
  if (outcome.problems.length === 0) continue;
  console.log(`failed: program ${number} of seed ${seed} (${program.provider})`);
  for (const problem of outcome.problems.slice(0, 5)) console.log(`  ${problem}`);
  const chosen = options.provider === PROVIDERS ? [] : options.provider;
  const others = [`--profile ${options.profile}`, ...chosen.map((name) => `--provider ${name}`)];
  console.log(
    `  again: npm run suite -- faults --seed ${seed} --only ${number} ${others.join(' ')}`,
  );
  const until = performance.now() + Number(options['shrink-seconds']) * 1000;
  const fails = async (candidate) => (await runOnce(candidate)).problems.length > 0;
  console.log(`  shrunk: ${JSON.stringify(await shrink(program, fails, until))}`);
}

await pool.drop();
softefa.close();
console.log(String(totals));
process.exitCode = totals.failed > 0 ? 1 : 0;
