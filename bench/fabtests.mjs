// Compares the benchmarks of the command line with the C programs of fabtests. Both have the same
// options, each side has its own core, and the runs alternate (C, ours, C, ours ...).
//   node bench/run.mjs --fabtests DIR [--rounds 7] [--only <regex of figures>] [--quick]
// DIR is a build or an installation of fabtests for the libfabric in use. Judges ratios of medians over
// all rounds and writes build/bench/fabtests.json.
import { mkdirSync, writeFileSync } from 'node:fs';
import { figures, programIn } from './fabtests-figures.mjs';
import { runContender } from './fabtests-run.mjs';
import { judgeFigure, ratiosTable, verdictsTable } from './fabtests-table.mjs';
import { built } from './harness/build.mjs';
import { describeMachine } from './harness/machine.mjs';
import { notPinned } from './harness/pair.mjs';

const CONTENDERS = ['C', 'ours'];

/** @param options those of bench/run.mjs */
export async function compareWithFabtests({ options, rounds, only }) {
  const directory = options.fabtests;
  const wanted = figures.filter(({ name }) => only.test(name));
  const chosen = wanted.filter(({ command }) => programIn(directory, command));
  const missing = new Set(wanted.filter((figure) => !chosen.includes(figure)).map(nameInC));
  if (chosen.length === 0) throw new Error(`no benchmark of fabtests in ${directory}`);

  const failures = [];
  const measured = await takeRounds(chosen, { directory, rounds, quick: options.quick }, failures);
  const judged = chosen.map((figure) => judgeFigure(figure, measured.get(figure)));
  const record = { machine: describeMachine(), options: { ...options, rounds }, failures, judged };
  mkdirSync(built, { recursive: true });
  writeFileSync(`${built}fabtests.json`, `${JSON.stringify(record, null, 2)}\n`);

  console.log(`${ratiosTable(judged)}\n`);
  console.log(`${verdictsTable(judged)}\n`);
  for (const failure of failures) console.log(`failed: ${failure}`);
  for (const name of missing) console.log(`note: this build of fabtests has no ${name}`);
  if (notPinned) console.log(`note: sides not pinned: ${notPinned}`);
  const { cores, cpu, node, libfabric } = record.machine;
  console.log(`${rounds} rounds on ${cores} x ${cpu}, node ${node}, libfabric ${libfabric}`);
}

const nameInC = ({ command }) => `fi_${command.replaceAll('-', '_')}`;

/** The results of all contenders: figure -> { C, ours }, each with the rows of every round. */
async function takeRounds(chosen, { directory, rounds, quick }, failures) {
  const measured = new Map(chosen.map((figure) => [figure, { C: [], ours: [] }]));
  const failed = new Set();
  for (let round = 0; round < rounds; round++) {
    for (const figure of chosen) {
      for (const contender of CONTENDERS) {
        if (failed.has(figure)) continue; // a figure that failed once is not run again
        progress(`round ${round + 1}/${rounds}: ${figure.name}, ${contender}`);
        try {
          const rows = await runContender(figure, contender, { directory, quick });
          measured.get(figure)[contender].push(rows);
        } catch (error) {
          failed.add(figure);
          failures.push(`${figure.name}, ${contender}: ${error.message}`);
        }
      }
    }
  }
  progress('');
  return measured;
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}
