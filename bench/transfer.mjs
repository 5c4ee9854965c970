// The benchmark of libfabric/transfer: the transfer engine against prepared batches, single writes, endpoints opened
// by hand, node:http, UCX and fabtests.
//   node bench/transfer.mjs [--provider shm] [--rounds 15] [--quick] [--only <regex of figures>] [--long] [--link 200]
//     [--peers 50] [--fabtests DIR]
// Two processes, one core each. The contenders of a figure run in turn; ratios are of medians and of the best rounds.
import { parseArgs } from 'node:util';
import { measure, runForEach } from './harness/providers.mjs';
import { median } from './harness/results.mjs';
import { align, number, sizeText } from './harness/table.mjs';
import { barsOf } from './transfer/bars.mjs';
import { NICS, openPair } from './transfer/pair.mjs';

const { values } = parseArgs({
  options: {
    provider: { type: 'string' },
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    long: { type: 'boolean', default: false },
    link: { type: 'string', default: '200' },
    peers: { type: 'string', default: '50' },
    fabtests: { type: 'string' },
    alone: { type: 'boolean', default: false }, // in this process
  },
});

const WARM_UP = 2;
const ROUNDS = 15;
const QUICK_ROUNDS = 3; // with --quick
const PAIR_SIZE = 256 << 20;

/** The bar, the measured value, the best value, and whether it meets the bar. */
function judge({ ratio, cost, more, value, worst, rate, count }, [first, second]) {
  const best = (times) => Math.min(...times);
  if (rate !== undefined) {
    const [perSecond, most] = [median(first), best(first)].map((ms) => (count / ms) * 1000);
    return [
      `>= ${number(rate)}/s`,
      `${number(perSecond)}/s`,
      `${number(most)}/s`,
      perSecond >= rate,
    ];
  }
  if (worst !== undefined) {
    const longest = Math.max(...first);
    return [
      `<= ${worst} ms`,
      `${number(longest)} ms`,
      `${number(best(first))} ms`,
      longest <= worst,
    ];
  }
  if (value !== undefined) {
    const us = median(first) * 1000;
    return [`<= ${value} us`, `${number(us)} us`, `${number(best(first) * 1000)} us`, us <= value];
  }
  if (more !== undefined) {
    const us = (median(first) - median(second)) * 1000;
    const bestUs = (best(first) - best(second)) * 1000;
    return [`<= ${more} us more`, `${number(us)} us`, `${number(bestUs)} us`, us <= more];
  }
  if (cost !== undefined) {
    const measured = median(first) / median(second);
    return [`<= ${cost}`, number(measured), number(best(first) / best(second)), measured <= cost];
  }
  const measured = median(second) / median(first);
  return [`>= ${ratio}`, number(measured), number(best(second) / best(first)), measured >= ratio];
}

function rowOf(provider, figure, times) {
  const [bar, measured, best, met] = judge(figure, times);
  const { name, size, bytes = size } = figure;
  const rate = ([ms]) => `${number(bytes / ms / 1e6)} GB/s`;
  const rates = figure.ratio === undefined ? ['', ''] : times.map((each) => rate([median(each)]));
  return [provider, name, sizeText(size), ...rates, bar, measured, best, met ? 'met' : 'NOT MET'];
}

/** Opens pairs of processes for figures. `pair()` is one with a rail on each side that all figures share. */
class Bench {
  provider;
  namespace = process.env.SOFTEFA_NAMESPACE;
  #shared;
  #opened = [];

  constructor(provider) {
    this.provider = provider;
  }

  pair = () => {
    this.#shared ??= this.#openPair({ size: PAIR_SIZE, plain: true });
    return this.#shared;
  };

  open = async (settings) => {
    const pair = await this.#openPair(settings);
    this.#opened.push(pair);
    return pair;
  };

  #openPair(settings) {
    return openPair({ provider: this.provider, namespace: this.namespace, ...settings });
  }

  /** Closes the pairs that the last figure has opened. */
  async endFigure() {
    for (const pair of this.#opened.splice(0)) await pair.close();
  }

  async close() {
    await (await this.#shared)?.close();
  }
}

async function run(provider) {
  const rows = [];
  const bench = new Bench(provider);
  for (const figure of figuresOf(provider)) {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${provider}: ${figure.name}`);
    const made = await figure.make(bench);
    const wanted = values.rounds ?? (values.quick ? QUICK_ROUNDS : ROUNDS);
    const rounds = Math.min(Number(wanted), figure.rounds ?? Number.POSITIVE_INFINITY);
    const { contenders = made, also = () => [], close = () => {} } = made;
    const times = await measure(Object.values(contenders), rounds, Math.min(WARM_UP, rounds));
    rows.push(rowOf(provider, figure, times));
    for (const more of also()) rows.push(rowOf(provider, more, more.times));
    close();
    await bench.endFigure();
  }
  await bench.close();
  return rows;
}

function figuresOf(provider) {
  const { long, fabtests } = values;
  const [link, peers] = [Number(values.link), Number(values.peers)];
  const bars = barsOf({ long, link, peers, fabtests });
  const chosen = bars.filter(({ name }) => new RegExp(values.only).test(name));
  return chosen
    .filter(({ on = ['shm', 'efa'] }) => on.includes(provider))
    .filter(({ slow = false }) => !(slow && values.quick));
}

const HEADING = ['provider', 'figure', 'size', 'rate', 'other', 'bar', 'measured', 'best', ''];

if (values.alone) {
  const rows = await run(values.provider);
  console.log(`${align([HEADING, ...rows])}\n`);
} else {
  const providers = values.provider ? [values.provider] : ['shm', 'efa', 'tcp'];
  runForEach(
    providers.filter((provider) => figuresOf(provider).length > 0),
    NICS,
  );
}
