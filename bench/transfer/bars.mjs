// The figures of the transfer benchmarks, and their bars.
//   ratio: the time of the second contender divided by that of the first, at least this
//   cost:  the time of the first contender divided by that of the second, at most this
//   more:  the first one's time minus the second one's in us, at most this
//   value: the first one's time in us, at most this
//   worst: the longest of the first one's times in ms, at most this
//   rate:  `count` divided by the first one's time, in a second, at least this
// A `slow` figure is left out of a quick run.
import {
  contiguous,
  eventLoop,
  http,
  MIB,
  notifications,
  paged,
  reused,
  small,
} from './figures.mjs';
import { copied, downloaded, uploaded } from './files.mjs';
import { hasFabtests, hasUcx, rmaBw, ucx } from './others.mjs';
import { manyOffers, peersAtRest, peersInTurn } from './peers.mjs';
import { cold, fourRails, lostRail, slowLinks } from './rails.mjs';

const KIB = 1024;
const PAGE = 64 * KIB;
const PAGES = 4096;
const ALL = ['shm', 'efa', 'tcp'];
const IN_A_HOST = 'posix,cma,self,tcp';
const GIB = 2 ** 30;
const FILE = GIB;
const NOTES = 10_240;
const SLOW_RUNS = 5; // rounds of figures whose rounds take a second or more

/** @param options `long`, `link` (MB/s), `peers` and `fabtests` of bench/transfer.mjs */
export const barsOf = (options) => [...alone(), ...several(options), ...others(options)];

/** One rail, against less. */
const alone = () => [
  ...[1, 16, 64, 256].map((mib) => ({
    name: 'against a prepared batch',
    size: mib * MIB,
    make: async ({ pair }) => contiguous(await pair(), mib * MIB),
    ratio: 0.95,
  })),
  {
    name: 'against a prepared batch that does not wait for its delivery',
    size: MIB,
    make: async ({ pair }) => contiguous(await pair(), MIB, []),
    ratio: 0.6,
  },
  {
    name: '4096 pages, against one piece',
    size: PAGE,
    bytes: PAGES * PAGE,
    make: async ({ pair }) => paged(await pair(), PAGES, PAGE),
    ratio: 0.92,
  },
  {
    name: '4096 pages of mapped memory, against one piece',
    on: ['shm'],
    size: PAGE,
    bytes: PAGES * PAGE,
    make: async ({ open }) =>
      paged(await open({ size: PAGES * PAGE, mapMemory: true }), PAGES, PAGE),
    ratio: 0.92,
  },
  {
    name: 'against GET of node:http',
    size: 64 * MIB,
    make: async ({ pair }) => http(await pair(), 64 * MIB),
    ratio: 3,
  },
  {
    name: 'half round trip, against a write',
    size: 4096,
    make: async ({ pair }) => small(await pair(), 4096),
    more: 5,
  },
  {
    name: 'half round trip, against a write that waits for its delivery',
    on: ['efa'],
    size: 4096,
    make: async ({ pair }) => small(await pair(), 4096, ['FI_DELIVERY_COMPLETE']),
    more: 5,
  },
  ...[
    [1, 30],
    [256, 60],
  ].map(([mib, value]) => ({
    name: process.threadCpuUsage === undefined ? 'event loop, busy' : 'event loop, CPU time',
    size: mib * MIB,
    make: async ({ pair }) => eventLoop(await pair(), mib * MIB),
    value,
  })),
  ...[false, true].flatMap((mapMemory) =>
    Object.entries({ uploaded, downloaded, copied }).map(([name, make]) => ({
      name: `a file ${name}${mapMemory ? ' (mapped memory)' : ''}, against registered memory`,
      on: mapMemory ? ['shm'] : ALL,
      size: FILE,
      rounds: SLOW_RUNS,
      make: async ({ open }) => make(await open({ size: FILE, mapMemory }), FILE),
      ratio: 0.9,
    })),
  ),
  ...[512, NOTES].map((window) => ({
    name: `notify(), ${window} at once`,
    on: ALL,
    size: 64,
    make: async ({ pair }) => notifications(await pair(), NOTES, window),
    count: NOTES,
    rate: 300_000,
  })),
];

/** Several rails, peers or offers. */
const several = ({ long, link, peers }) => [
  {
    name: '4 rails, against 1',
    on: ['efa'],
    size: 256 * MIB,
    make: (bench) => fourRails(bench, 256 * MIB),
    ratio: 0.95,
  },
  ...[link, 1000].map((rate) => ({
    name: `4 links of ${rate} MB/s, against 1`,
    on: ['efa'],
    size: 256 * MIB,
    make: (bench) => slowLinks(bench, 256 * MIB, rate),
    ratio: 3.8,
  })),
  {
    name: 'cold: 4 rails and a transfer, against 4 endpoints and writes',
    on: ['efa'],
    size: 2 * MIB,
    make: (bench) => cold(bench, 512 * KIB),
    cost: 1.3,
  },
  ...['down', 'frozen', 'slow'].map((what) => ({
    slow: true,
    name: `1 of 4 NICs ${what}, against the other 3 (links of ${link} MB/s)`,
    on: ['efa'],
    size: (long ? 1024 : 256) * MIB,
    rounds: SLOW_RUNS,
    make: (bench) => lostRail(bench, what, (long ? 1024 : 256) * MIB, link),
    ratio: 0.7,
  })),
  {
    slow: true,
    name: `${peers} peers in turn, against 2`,
    on: ['tcp', 'efa'],
    size: PAGE,
    make: (bench) => peersInTurn(bench, peers),
    cost: 1.2,
  },
  {
    slow: true,
    name: `2 of ${peers} peers, against 2`,
    on: ['tcp', 'efa'],
    size: PAGE,
    make: (bench) => peersAtRest(bench, peers),
    cost: 1.2,
  },
  {
    slow: true,
    name: `after ${long ? 100_000 : 2048} offers, against before`,
    on: ALL,
    size: PAGE,
    make: (bench) => manyOffers(bench, long ? 100_000 : 2048),
    cost: 1.2,
  },
];

/** Pages, scattered or always the same one, against programs that write one buffer again and again. */
const others = ({ fabtests }) =>
  [PAGE, MIB].flatMap((size) => {
    const bytes = 256 * MIB;
    const count = bytes / size;
    const sets = [
      ['scattered pages', (pair) => paged(pair, count, size)],
      ['one page', (pair) => reused(pair, count, size)],
    ];
    return sets.flatMap(([set, make]) => {
      const against = (other, on, contender, ratio, mapMemory = false) => ({
        name: `${set}, against ${other}`,
        on,
        size,
        bytes,
        rounds: SLOW_RUNS,
        make: async ({ pair, open, provider }) => ({
          pages: (await make(await (mapMemory ? open({ size: bytes, mapMemory }) : pair()))).pages,
          other: contender(provider),
        }),
        ratio,
      });
      return [
        ...(hasUcx
          ? [
              against('UCX over tcp', ['tcp'], () => ucx('tcp', size, bytes, GIB / 8), 1.5),
              against(
                'UCX in a host, not mapped',
                ['shm'],
                () => ucx(IN_A_HOST, size, bytes, 4 * GIB),
                0.9,
              ),
              against(
                'UCX in a host',
                ['shm'],
                () => ucx(IN_A_HOST, size, bytes, 4 * GIB),
                0.9,
                true,
              ),
            ]
          : []),
        ...(hasFabtests(fabtests)
          ? [against('fi_rma_bw', ALL, (on) => rmaBw(on, fabtests, size, bytes), 0.97)]
          : []),
      ];
    });
  });
