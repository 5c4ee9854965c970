// The benchmark compares this package with the same loops in C++, with node:net and with zeromq.
//   node bench/run.mjs [--rounds 7] [--only <regex of figures>] [--quick]
//   node bench/run.mjs --fabtests DIR ...: compares with fabtests instead, see bench/fabtests.mjs
// Each side of a pair has its own core. Judges ratios of medians over all rounds and writes
// build/bench/results.json and, if it measured what they show, build/bench/figures.svg.
import { writeFileSync } from 'node:fs';
import { bars } from './bars.mjs';
import { compareWithFabtests } from './fabtests.mjs';
import { groups } from './figures.mjs';
import { buildLoops, built } from './harness/build.mjs';
import { coreHopNs, describeMachine } from './harness/machine.mjs';
import { benchOptions } from './harness/options.mjs';
import { notPinned } from './harness/pair.mjs';
import { median } from './harness/results.mjs';
import { takeRounds } from './harness/rounds.mjs';
import { barsTable, mediansTable } from './harness/table.mjs';
import { pictureOf } from './picture.mjs';

const { options, rounds, only, divisor } = benchOptions();
if (options.fabtests !== undefined) {
  await compareWithFabtests({ options, rounds, only });
  process.exit();
}
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

const coreHops = []; // in ns, measured before every figure of every round
const contending = chosen.map((group) => ({
  ...group,
  contenders: group.contenders.filter((contender) => packageLoads || !contender.package),
}));
const { results, failures } = await takeRounds(contending, rounds, {
  divisor,
  before(group, round) {
    progress(`round ${round + 1}/${rounds}: ${group.name}`);
    if (!notPinned) coreHops.push(coreHopNs());
  },
});
progress('');

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
const picture = pictureOf(samples);
if (picture) writeFileSync(`${built}figures.svg`, picture); // README shows docs/figures.svg, a copy
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
