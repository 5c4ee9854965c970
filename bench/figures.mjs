// The figures: groups of contenders that take turns, with their sizes as { bytes: timed operations per
// turn }. In every round, each contender gets `passes` turns per size. A contender gives the command
// line of a side ('server' or 'client') or, if `alone` is set, of its only process.
import { fileURLToPath } from 'node:url';
import { built } from './harness/build.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const KIB = 1024;
export const MIB = 1024 * KIB;
export const SMALL = [1, 64];
export const LARGE = [64 * KIB, MIB];
export const DRIVERS = ['manual', 'loop', 'thread'];

const PASSES = 5;

/** A turn takes about 50 ms in C++. */
const ITERATIONS = { 1: 50_000, 64: 50_000, [64 * KIB]: 5_000, [MIB]: 512 };
const sizesOf = (bytes, iterations = ITERATIONS) =>
  Object.fromEntries(bytes.map((size) => [size, iterations[size]]));
/** A message takes 0.3 us, a write 1.8 us. */
const MESSAGES = { 1: 150_000, 64: 150_000 };

const cpp = (loop, ...args) => ({
  name: args.includes('--inject') ? 'C++, inject' : 'C++',
  sides: (role) => [`${built}${loop}`, role, ...args],
});

/** The same program again: the difference between its two medians is the noise of a run. */
const cppAgain = (loop) => ({ ...cpp(loop), name: 'C++ again' });

const ours = (loop, form, driver, more = {}) => ({
  name: more.name ?? `${form}, ${driver}`,
  package: true,
  ...more,
  sides: (role) => [
    process.execPath,
    ...(more.node ?? []),
    `${here}libfabric/${loop}.mjs`,
    role,
    ...['--form', form, '--driver', driver],
    ...(more.args?.(role) ?? []),
  ],
});

const script = (name, file, args, more) => ({
  name,
  ...more,
  sides: (role) => [process.execPath, `${here}${file}`, ...args, role],
});
const net = (loop, sizes) => script('node:net', 'node-net.mjs', [loop], { sizes });
const zeromq = (loop, transport, sizes) =>
  script(`zeromq ${transport}`, 'zeromq.mjs', [loop, transport], { sizes });

/** A promise for every send, to a peer that receives with prepared batches. */
const promiseSender = (loop) =>
  ours(loop, 'promise', 'loop', {
    name: 'promise sender, loop',
    args: (role) => (role === 'server' ? ['--form', 'prepared'] : []),
  });

const rates = ['send', 'tsend', 'write'].map((loop) => ({
  name: `${loop} rate`,
  sizes: sizesOf(SMALL, loop === 'write' ? ITERATIONS : MESSAGES),
  passes: PASSES,
  contenders: [
    cpp(loop),
    ...DRIVERS.map((driver) => ours(loop, 'prepared', driver)),
    ...DRIVERS.map((driver) => ours(loop, 'ring', driver)),
    ...DRIVERS.map((driver) => ours(loop, 'promise', driver)),
    ...(loop === 'write' ? [] : [promiseSender(loop), cpp(loop, '--inject')]),
    cppAgain(loop),
    ...(loop === 'send' ? ['tcp', 'ipc'].map((by) => zeromq('send', by, { 64: 5_000 })) : []),
  ],
}));

const bandwidths = ['send', 'write', 'read'].map((loop) => ({
  name: `${loop} bandwidth`,
  sizes: sizesOf(LARGE),
  passes: PASSES,
  contenders: [
    cpp(loop),
    ...DRIVERS.map((driver) => ours(loop, 'prepared', driver)),
    cppAgain(loop),
    ...(loop === 'send' ? [net('send', { [MIB]: 128 })] : []),
    ...(loop === 'send' ? ['tcp', 'ipc'].map((by) => zeromq('send', by, { [MIB]: 128 })) : []),
  ],
}));

const FLIGHT_ITERATIONS = 400_000;
const inFlight = ['send', 'write'].map((loop) => ({
  name: `${loop} in flight`,
  sizes: { 64: FLIGHT_ITERATIONS },
  rounds: 3,
  contenders: [
    ['prepared', 'manual'],
    ['promise', 'loop'],
    ['promise', 'thread'],
  ].flatMap(([form, driver]) =>
    [64, 100_000].map((window) =>
      ours(loop, form, driver, {
        name: `${form}, ${driver}, ${window}`,
        args: () => ['--window', String(window)],
      }),
    ),
  ),
}));

const STREAM_ITERATIONS = { 64: 20_000, [4 * KIB]: 20_000, [64 * KIB]: 2_500, [MIB]: 256 };
const streamContender = (messages, driver) =>
  ours('stream', 'prepared', driver, {
    name: `${messages}, ${driver}`,
    args: () => ['--messages', messages],
  });

const peersContender = (peers, driver) =>
  ours('peers', 'prepared', driver, {
    name: `${driver}, ${peers} peers`,
    args: () => ['--provider', 'tcp', '--peers', String(peers)],
  });

const loopDelay = (name, args, sizes) => {
  const reader = ['--driver', 'manual', '--window', '8'];
  return ours('loop-delay', 'prepared', 'thread', {
    name,
    sizes,
    args: (role) => (role === 'client' ? [...args, ...reader] : args),
  });
};

const heap = (form) =>
  ours('heap', form, 'loop', { name: `${form}, loop`, node: ['--expose-gc'], timeoutMs: 120_000 });

export const groups = [
  ...rates,
  {
    name: 'write both directions',
    sizes: sizesOf([1]),
    passes: PASSES,
    contenders: [cpp('write-both'), ours('write-both', 'prepared', 'manual')],
  },
  ...bandwidths,
  {
    name: 'half round trip',
    sizes: { 64: 20_000 },
    passes: PASSES,
    contenders: [
      cpp('pingpong'),
      cpp('pingpong', '--inject'),
      cppAgain('pingpong'),
      ours('pingpong', 'prepared', 'manual'),
      ours('pingpong', 'prepared', 'loop', { sizes: { 64: 10_000 } }),
      ours('pingpong', 'prepared', 'thread', { sizes: { 64: 5_000 } }),
      net('pingpong', { 64: 2_000 }),
      zeromq('pingpong', 'tcp', { 64: 1_000 }),
      zeromq('pingpong', 'ipc', { 64: 1_000 }),
    ],
  },
  {
    name: 'stream of messages',
    sizes: STREAM_ITERATIONS,
    passes: PASSES,
    contenders: ['loop', 'thread'].flatMap((driver) =>
      ['copy', 'borrow'].map((messages) => streamContender(messages, driver)),
    ),
  },
  ...inFlight,
  {
    name: 'peers',
    sizes: { 64: 20_000 },
    passes: PASSES,
    rounds: 3,
    contenders: [2, 10_000].map((peers) => peersContender(peers, 'manual')),
  },
  {
    name: 'idle CPU',
    rounds: 2,
    contenders: [ours('idle', 'prepared', 'thread', { name: 'thread', alone: true })],
  },
  {
    name: 'event-loop delay',
    sizes: { [MIB]: 20_000 },
    rounds: 3,
    contenders: [
      loopDelay('thread', []),
      loopDelay('thread, tcp', ['--provider', 'tcp'], { [MIB]: 2_000 }),
    ],
  },
  {
    name: 'heap growth',
    sizes: { 64: 10_000_000 },
    rounds: 1,
    contenders: ['prepared', 'ring', 'promise'].map(heap),
  },
];
