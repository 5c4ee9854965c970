// The benchmark: this package, the same loops in C++, node:net and zeromq side by side.
//   node bench/run.mjs [--rounds 7] [--only <regex of figures>] [--quick]
// A round starts the contenders of a figure and lets them take turns of some 50 ms, A B C A B C
// ..., each side of a pair on its own core. Judges ratios of medians over all rounds and writes
// build/bench/results.json.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { bars } from './bars.mjs';
import { groups } from './figures.mjs';
import { buildLoops, built } from './harness/build.mjs';
import { describeMachine } from './harness/machine.mjs';
import { notPinned, Pair } from './harness/pair.mjs';
import { median, Results } from './harness/results.mjs';
import { barsTable, mediansTable } from './harness/table.mjs';

const ROUNDS = 7;
const QUICK = { rounds: 3, divisor: 4 };

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string' },
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds ?? (options.quick ? QUICK.rounds : ROUNDS));
const only = new RegExp(options.only);
const chosen = groups.filter((group) => only.test(group.name));

const machine = describeMachine();
const notes = notPinned ? [`sides not pinned: ${notPinned}`] : [];
const packageLoads = await import('libfabric').then(
  () => true,
  (error) => {
    notes.push(`package not measured: ${error.message.split('\n')[0]}`);
    return false;
  },
);
buildLoops();

const results = new Results();
const coreHops = []; // ns, before every figure of every round
const failures = new Map(); // 'figure | contender' -> message

for (let round = 0; round < rounds; round++) {
  for (const group of chosen.filter((each) => round < (each.rounds ?? rounds))) {
    progress(`round ${round + 1}/${rounds}: ${group.name}`);
    measureCoreHop();
    await runGroup(group, round);
  }
}
progress('');

async function runGroup(group, round) {
  const contenders = group.contenders.filter((contender) => packageLoads || !contender.package);
  const running = [];
  for (const contender of contenders) {
    const key = `${group.name} | ${contender.name}`;
    if (failures.has(key)) continue; // what failed once is not given time again
    const takeTurn = async (turn) => {
      try {
        for (const measurement of await turn()) {
          results.add(group.name, contender.name, round, measurement);
        }
      } catch (error) {
        failures.set(key, error.message);
      }
    };
    const pair = new Pair(commandsOf(group, contender), contender.timeoutMs);
    await takeTurn(() => pair.settle());
    running.push({ pair, takeTurn });
  }
  for (let left = running; left.length > 0; left = left.filter(({ pair }) => !pair.ended)) {
    for (const { pair, takeTurn } of left) await takeTurn(() => pair.step());
  }
}

/** Every size as often as the group has passes: one turn each. */
function commandsOf(group, contender) {
  const divisor = options.quick ? QUICK.divisor : 1;
  const sizes = Object.entries(contender.sizes ?? group.sizes ?? {}).map(
    ([bytes, iterations]) => `${bytes}:${Math.ceil(iterations / divisor)}`,
  );
  const turns = Array.from({ length: group.passes ?? 1 }, () => sizes).flat();
  const more = turns.length > 0 ? ['--sizes', turns.join(',')] : [];
  const roles = contender.alone ? ['server'] : ['server', 'client'];
  return roles.map((role) => [...contender.sides(role), ...more]);
}

function measureCoreHop() {
  if (notPinned) return;
  coreHops.push(JSON.parse(execFileSync(`${built}cores`, ['0', '1'], { encoding: 'utf8' })).value);
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

const samples = results.toJSON();
const judged = bars
  .filter((bar) => chosen.some((group) => group.name === bar.group))
  .map((bar) => results.judge(bar));
const record = {
  machine,
  options: { ...options, rounds },
  notes,
  failures: Object.fromEntries(failures),
  coreHopNs: coreHops,
  samples,
  bars: judged,
};
writeFileSync(`${built}results.json`, `${JSON.stringify(record, null, 2)}\n`);

console.log(`${mediansTable(samples)}\n`);
if (packageLoads) console.log(`${barsTable(judged)}\n`);
for (const [key, message] of failures) console.log(`failed: ${key}: ${message}`);
for (const note of notes) console.log(`note: ${note}`);
console.log(summary());

function summary() {
  const count = (test) => judged.filter((bar) => bar.limit !== undefined && test(bar)).length;
  const hop =
    coreHops.length > 0
      ? `, core to core ${median(coreHops).toFixed(0)} ns` +
        ` (${Math.min(...coreHops).toFixed(0)}-${Math.max(...coreHops).toFixed(0)})`
      : '';
  return (
    `${count((bar) => bar.met)} bars met, ${count((bar) => bar.met === false)} not met, ` +
    `${count((bar) => bar.measured === undefined)} not measured; ` +
    `${rounds} rounds on ${machine.cores} x ${machine.cpu}, node ${machine.node}, ` +
    `libfabric ${machine.libfabric}${hop}`
  );
}
