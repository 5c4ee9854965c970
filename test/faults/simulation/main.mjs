// `npm run suite -- faults simulation [--seed TEXT] [--minutes 2] [--provider NAME] [--profile mixed | bulk] [--only 3,7] [--program FILE]`
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SoftefaFaults } from 'libfabric/softefa';
import { randomOf } from '../../ends/plan.mjs';
import { argumentsFor, commandOf, optionsOf, programsOf } from './options.mjs';
import { Pool } from './pool.mjs';
import { run } from './run.mjs';
import { kindOf, shrink } from './shrink.mjs';
import { Totals } from './totals.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const options = optionsOf(process.argv.slice(2));
const { seed, file } = options;
const end = performance.now() + options.minutes * 60_000;
const namespace = `faults-${randomBytes(4).toString('hex')}`;
const softefa = new SoftefaFaults({ namespace });
const pool = new Pool(namespace);
const totals = new Totals();
if (file === undefined) console.log(`seed ${seed}`);

const runOnce = async (program) => {
  softefa.clear();
  softefa.set({ seed: 1 + Math.floor(randomOf(program.seed)() * 1e9) });
  return run(program, pool, softefa);
};

function describe(name, { provider, drivers, rounds }, { operations, bytes, refused }, seconds) {
  const kinds = rounds.flatMap((round) => round.faults.map(({ kind }) => kind));
  const done = refused ?? `${operations} operations, ${(bytes / 1e9).toFixed(3)} GB, ${kinds}`;
  console.log(`${name}: ${provider} ${drivers} ${done}: ${seconds.toFixed(1)} s`);
}

/** The commands that run a failed program again: alone, and after those that its processes had run. */
function* replaysOf(name, { earlier }) {
  if (file !== undefined) return yield ['--program', file];
  yield argumentsFor(options, [name]);
  const before = earlier.map((one) => Number(one.slice(seed.length + 1)));
  if (before.length > 0) yield argumentsFor(options, [...before, name]);
}

/** Writes a program to a file. Returns the arguments that run it. */
function saved(program) {
  const folder = join(root, 'build/faults-programs');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${program.seed.replaceAll(/[^\w-]/g, '-')}.json`);
  writeFileSync(path, JSON.stringify(program, undefined, 1));
  return ['--program', relative(root, path)];
}

async function report(name, program, outcome) {
  const { problems } = outcome;
  console.log(`failed: program ${name} of seed ${program.seed} (${program.provider})`);
  for (const problem of problems.slice(0, 5)) console.log(`  ${problem}`);
  for (const args of replaysOf(name, outcome)) console.log(`  again: ${commandOf(args)}`);
  const until = performance.now() + options.shrinkSeconds * 1000;
  const kind = kindOf(problems);
  const fails = async (candidate) => kindOf((await runOnce(candidate)).problems) === kind;
  const smallest = await shrink(program, fails, until);
  if (smallest !== program) console.log(`  shrunk: ${commandOf(saved(smallest))}`);
}

for (const [name, program] of programsOf(options)) {
  if (performance.now() > end) break;
  const began = performance.now();
  const outcome = await runOnce(program);
  totals.add(outcome);
  const repeated = file !== undefined || options.only !== undefined;
  if (options.verbose || repeated) {
    describe(name, program, outcome, (performance.now() - began) / 1000);
    if (name % 10 === 9) console.log(String(totals));
  }
  if (outcome.problems.length > 0) await report(name, program, outcome);
}

await pool.drop();
softefa.close();
console.log(String(totals));
process.exitCode = totals.failed > 0 ? 1 : 0;
