// The benchmark of libfabric/transfer: the transfer engine against prepared batches, single writes and node:http.
//   node bench/transfer.mjs [--provider shm] [--rounds 15] [--only <regex of figures>]
// Two processes, one core each. The contenders of a figure run in turn; ratios are of medians and of the best rounds.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median } from './harness/results.mjs';
import { align, number, sizeText } from './harness/table.mjs';
import { contiguous, eventLoop, http, MIB, paged, small } from './transfer/figures.mjs';
import { environments, openPair } from './transfer/pair.mjs';

const { values } = parseArgs({
  options: {
    provider: { type: 'string' },
    rounds: { type: 'string', default: '15' },
    only: { type: 'string', default: '' },
  },
});

const PAGE = 64 * 1024;
const WARM_UP = 2;

// `ratio`: the time of the second contender divided by that of the first, at least `bar`.
// `more`: the first one's time minus the second one's in us, at most `bar`.
// `value`: the first one's time in us, at most `bar`.
const FIGURES = [
  ...[1, 16, 64, 256].map((mib) => ({
    name: 'against a prepared batch',
    size: mib * MIB,
    make: (pair) => contiguous(pair, mib * MIB),
    ratio: 0.97,
  })),
  {
    name: '4096 pages, against one piece',
    size: PAGE,
    make: (pair) => paged(pair, 4096, PAGE),
    ratio: 0.9,
  },
  {
    name: 'against GET of node:http',
    size: 64 * MIB,
    make: (pair) => http(pair, 64 * MIB),
    ratio: 3,
  },
  {
    name: 'half round trip, against a write',
    size: 4096,
    make: (pair) => small(pair, 4096),
    more: 5,
  },
  {
    name: 'event loop, busy',
    size: 256 * MIB,
    make: (pair) => eventLoop(pair, 256 * MIB),
    value: 50,
  },
].filter(({ name }) => new RegExp(values.only).test(name));

/** Runs the contenders in turn. Returns the milliseconds of each. */
async function measure(contenders, rounds) {
  const times = Object.keys(contenders).map(() => []);
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const [i, run] of Object.values(contenders).entries()) {
      const took = await run();
      if (round >= 0) times[i].push(took);
    }
  }
  return times;
}

function judge({ ratio, more, value }, [first, second]) {
  const best = (times) => Math.min(...times);
  if (value !== undefined) {
    const us = median(first) * 1000;
    return [`<= ${value} us`, `${number(us)} us`, `${number(best(first) * 1000)} us`, us <= value];
  }
  if (more !== undefined) {
    const us = (median(first) - median(second)) * 1000;
    const bestUs = (best(first) - best(second)) * 1000;
    return [`<= ${more} us more`, `${number(us)} us`, `${number(bestUs)} us`, us <= more];
  }
  const measured = median(second) / median(first);
  return [`>= ${ratio}`, number(measured), number(best(second) / best(first)), measured >= ratio];
}

async function run(provider) {
  const rows = [];
  const pair = await openPair(provider, 1, 256 * MIB, process.env.SOFTEFA_NAMESPACE);
  for (const figure of FIGURES) {
    const times = await measure(await figure.make(pair), Number(values.rounds));
    const [bar, measured, best, met] = judge(figure, times);
    const rate =
      figure.ratio === undefined ? '' : `${number(rateOf(figure, median(times[0])))} GB/s`;
    rows.push([
      provider,
      figure.name,
      sizeText(figure.size),
      rate,
      bar,
      measured,
      best,
      met ? 'met' : 'NOT MET',
    ]);
  }
  await pair.close();
  return rows;
}

const rateOf = ({ name, size }, ms) => ((/pages/.test(name) ? 4096 : 1) * size) / ms / 1e6;

const HEADING = ['provider', 'figure', 'size', 'rate', 'bar', 'measured', 'best', ''];

if (values.provider === undefined) {
  // Each provider in a process of its own: softefa must be loaded before libfabric.
  const namespace = `bench-${process.pid}`;
  for (const provider of ['shm', 'efa']) {
    const env = provider === 'efa' ? environments(namespace)[0] : process.env;
    const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2), '--provider', provider];
    const { status } = spawnSync(process.execPath, args, { env, stdio: 'inherit' });
    if (status !== 0) process.exitCode = 1;
  }
} else {
  const rows = await run(values.provider);
  console.log(`${align([HEADING, ...rows])}\n`);
}
