// The benchmark of libfabric/net against node:net, zeromq and the transfer engine, between two processes with one core each.
//   node bench/net.mjs [--provider shm] [--rounds 7] [--quick] [--only <regex of figures>]
// The contenders of a figure run in turn. Ratios are of medians, and of the best rounds.
import { parseArgs } from 'node:util';
import { measure, runForEach } from './harness/providers.mjs';
import { median } from './harness/results.mjs';
import { align, number } from './harness/table.mjs';

const { values } = parseArgs({
  options: {
    provider: { type: 'string' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    alone: { type: 'boolean', default: false }, // in this process
  },
});

const NICS = 2;
const WARM_UP = 1;
const ROUNDS = 7;
const QUICK_ROUNDS = 3; // with --quick
const QUICKER = 4; // fewer operations, with --quick

function figureText({ us, bytes, less }, count, ms) {
  if (us) return `${number((ms * 1000) / count / us)} us`;
  if (less) return `${number(ms)} ms`;
  if (bytes) return `${number((bytes * count) / ms / 1e6)} GB/s`;
  return `${number((count / ms) * 1000)}/s`;
}

function rowOf(figure, count, [name, ours], [other, theirs], bar) {
  const { less = false } = figure;
  const ratio = (of) => (less ? of(ours) / of(theirs) : of(theirs) / of(ours));
  const measured = ratio(median);
  const best = ratio((times) => Math.min(...times));
  const met = less ? measured <= bar : measured >= bar;
  return [
    figure.name,
    name,
    figureText(figure, count, median(ours)),
    other,
    figureText(figure, count, median(theirs)),
    `${less ? '<=' : '>='} ${bar}`,
    number(measured),
    number(best),
    met ? 'met' : 'NOT MET',
  ];
}

async function run(provider) {
  const { Servers } = await import('./net/side.mjs');
  const { figuresOf } = await import('./net/figures.mjs');
  const rows = [];
  for (const figure of figuresOf(provider)) {
    if (!new RegExp(values.only).test(figure.name)) continue;
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${provider}: ${figure.name}`);
    const count = Math.ceil(figure.count / (values.quick ? QUICKER : 1));
    const rounds = Number(values.rounds ?? (values.quick ? QUICK_ROUNDS : ROUNDS));
    const servers = new Servers(provider, process.env.SOFTEFA_NAMESPACE, NICS);
    const names = [...Object.keys(figure.contenders), ...Object.keys(figure.other)];
    const makers = [...Object.values(figure.contenders), ...Object.values(figure.other)];
    const runs = [];
    for (const make of makers) runs.push(await make(servers, count));
    const times = await measure(runs, rounds, WARM_UP);
    servers.close();
    const other = [names.at(-1), times.at(-1)];
    for (const [i, bar] of figure.bars[provider].entries())
      rows.push(rowOf(figure, count, [names[i], times[i]], other, bar));
  }
  return rows;
}

const HEADING = ['figure', 'contender', '', 'against', '', 'bar', 'measured', 'best', ''];

if (values.alone) {
  console.log(`${align([HEADING, ...(await run(values.provider))])}\n`);
  process.exit();
}
runForEach(values.provider ? [values.provider] : ['shm', 'efa'], NICS);
