// `npm run test:faults -- simulation [--seed TEXT] [--minutes 2] [--provider NAME] [--program JSON]`
import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { SoftefaFaults } from 'libfabric/softefa';
import { PROVIDERS, programOf } from './plan.mjs';
import { Pool } from './pool.mjs';
import { run } from './run.mjs';
import { shrink } from './shrink.mjs';

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string' },
    minutes: { type: 'string', default: '2' },
    programs: { type: 'string' },
    provider: { type: 'string', multiple: true, default: PROVIDERS },
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
const sum = { programs: 0, failed: 0, operations: 0, bytes: 0, faults: 0 };
console.log(`seed ${seed}`);

const runOnce = async (program) => {
  softefa.clear();
  return run(program, pool, softefa);
};

while (sum.programs < most && performance.now() < end) {
  const number = Number(options.only ?? sum.programs);
  const program = programOf(`${seed}/${number}`, options.provider);
  const began = performance.now();
  const outcome = await runOnce(program);
  sum.programs++;
  for (const name of ['operations', 'bytes', 'faults']) sum[name] += outcome[name];
  if (options.verbose) {
    const { provider, drivers, rounds } = program;
    const took = (performance.now() - began).toFixed();
    const faults = rounds.flatMap((round) => round.faults.map(({ kind }) => kind));
    console.log(
      `${number}: ${provider} ${drivers} ${outcome.operations} operations, ${faults}: ${took} ms`,
    );
  }
  if (outcome.problems.length === 0) continue;
  sum.failed++;
  console.log(`failed: program ${number} of seed ${seed} (${program.provider})`);
  for (const problem of outcome.problems.slice(0, 5)) console.log(`  ${problem}`);
  const again = `--seed ${seed} --only ${number}${options.provider === PROVIDERS ? '' : ` --provider ${options.provider.join(' --provider ')}`}`;
  console.log(`  again: npm run test:faults -- ${again}`);
  const until = performance.now() + Number(options['shrink-seconds']) * 1000;
  const fails = async (candidate) => (await runOnce(candidate)).problems.length > 0;
  console.log(`  shrunk: ${JSON.stringify(await shrink(program, fails, until))}`);
}

await pool.drop();
softefa.close();
const bytes = sum.bytes / 1e9;
console.log(
  `${sum.programs} programs, ${sum.operations} operations, ${bytes.toFixed(3)} GB moved and checked, ${sum.faults} faults`,
);
console.log(`${sum.programs - sum.failed} passed, ${sum.failed} failed`);
process.exitCode = sum.failed > 0 ? 1 : 0;
