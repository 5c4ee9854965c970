// `npm run suite -- ends [--rounds 1000] [--seed TEXT] [--provider NAME] [--only NUMBER] [--pending]`
import { randomBytes } from 'node:crypto';
import { softefaEnvironment } from 'libfabric/softefa';
import { count, oneOf, programOptions } from '../../scripts/options.mjs';
import { KEPT, LIMITS, pendingFor } from './limits.mjs';
import { Parties } from './parties.mjs';
import { describe, PROVIDERS, planOf, replay, roundOf } from './plan.mjs';
import { tableOf, worstOf } from './report.mjs';
import { runRound } from './round.mjs';

const options = programOptions({
  rounds: { value: 'N', read: count(1), default: 1000 },
  seed: { value: 'TEXT', default: String(Date.now() % 1_000_000) },
  provider: { value: 'NAME', read: oneOf(PROVIDERS), multiple: true, default: PROVIDERS },
  only: { value: 'N', read: count() },
  pending: {},
  verbose: {},
});

const { seed, provider: providers, only } = options;
const plan =
  only === undefined
    ? planOf(seed, options.rounds, providers)
    : providers.map((provider) => roundOf(seed, provider, only));
console.log(`seed ${seed}: ${plan.length} rounds`);

const devices = softefaEnvironment({
  namespace: `ends-${randomBytes(4).toString('hex')}`,
  keep: false,
  asynchronous: true,
  memlock: 'unlimited',
});
const outcomes = [];
const waiting = new Map(); // reason why rounds do not run -> number of rounds
const changed = new Map(); // limit -> number of rounds that it changes

for (const provider of providers) {
  const parties = new Parties(provider, devices);
  for (const planned of plan.filter((round) => round.provider === provider)) {
    const pending = options.pending ? undefined : pendingFor(planned);
    if (pending !== undefined) {
      waiting.set(pending, (waiting.get(pending) ?? 0) + 1);
      continue;
    }
    const began = performance.now();
    const outcome = await runRound(planned, parties);
    outcomes.push(outcome);
    for (const name of new Set(outcome.limits)) changed.set(name, (changed.get(name) ?? 0) + 1);
    if (options.verbose)
      console.log(`${describe(planned)}: ${(performance.now() - began).toFixed()} ms`);
    printFailures(planned, outcome.failures);
  }
  const failures = await parties.release(true);
  if (failures.length > 0) printFailures(outcomes.at(-1).planned, failures);
}

console.log(`\n${tableOf(outcomes)}\n\n${worstOf(outcomes)}\n`);
for (const { name, reason } of [...LIMITS, ...KEPT]) {
  if (changed.has(name)) console.log(`limit, ${changed.get(name)} rounds: ${name}: ${reason}`);
}
for (const [{ item, reason }, count] of waiting) {
  console.log(`pending, ${count} rounds: item ${item}: ${reason}`);
}
const failed = outcomes.filter(({ failures }) => failures.length > 0);
console.log(`${outcomes.length - failed.length} passed, ${failed.length} failed`);

function printFailures(planned, failures) {
  if (failures.length === 0) return;
  console.log(`FAILED: ${describe(planned)}`);
  for (const failure of failures) console.log(`  ${failure.trim().replaceAll('\n', '\n  ')}`);
  console.log(`  ${replay(planned)}`);
  process.exitCode = 1;
}
