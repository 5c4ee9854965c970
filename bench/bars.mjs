// The bars (limits) of the package. A bar compares the medians of two contenders of a group:
//
// - `speed`: their time / our time, at least
// - `time`: our time / their time, at most
// - `more`: our time - their time in us, at most
// - `value`: the figure of one contender, at most
//
// A bar without a limit is printed but not judged.
import { DRIVERS, LARGE, MIB, SMALL } from './figures.mjs';

const compare =
  (kind) =>
  (group, size, contender, limit, against = 'C++') => ({
    group,
    size,
    contender,
    against,
    kind,
    limit,
  });
const speed = compare('speed');
const time = compare('time');
const more = compare('more');
const value = (group, size, contender, limit) => ({ group, size, contender, kind: 'value', limit });

const RATE_BARS = {
  send: { ring: 0.8, promise: 0.35 },
  tsend: { ring: 0.8, promise: 0.35 },
  write: { ring: 0.95, promise: 0.7 },
};

const rates = Object.entries(RATE_BARS).flatMap(([loop, limits]) => {
  const group = `${loop} rate`;
  return SMALL.flatMap((size) => [
    speed(group, size, 'prepared, manual', 0.97),
    speed(group, size, 'ring, manual', limits.ring),
    speed(group, size, 'promise, loop', limits.promise),
  ]);
});

const bandwidths = ['send', 'write', 'read'].flatMap((loop) =>
  LARGE.flatMap((size) =>
    DRIVERS.map((driver) => speed(`${loop} bandwidth`, size, `prepared, ${driver}`, 0.97)),
  ),
);

const inFlight = ['send', 'write'].flatMap((loop) =>
  ['prepared, manual', 'promise, loop', 'promise, thread'].map((how) =>
    time(`${loop} in flight`, 64, `${how}, 100000`, 1.2, `${how}, 64`),
  ),
);

// If each of 10 million operations leaked a byte, the heap would grow by 9,766 KiB. The size of a
// collected heap varies by less than this noise.
const HEAP_NOISE_KIB = 256;

export const bars = [
  ...rates,
  speed('send rate', 64, 'promise, loop', undefined, 'zeromq ipc'),
  ...bandwidths,
  speed('send bandwidth', MIB, 'prepared, loop', 2, 'node:net'),
  speed('send bandwidth', MIB, 'prepared, thread', 2, 'node:net'),
  speed('send bandwidth', MIB, 'prepared, loop', undefined, 'zeromq ipc'),
  time('half round trip', 64, 'prepared, manual', 1.35),
  more('half round trip', 64, 'prepared, loop', 2),
  more('half round trip', 64, 'prepared, thread', 10),
  time('half round trip', 64, 'prepared, loop', 0.2, 'node:net'),
  time('half round trip', 64, 'prepared, loop', undefined, 'zeromq ipc'),
  ...[64, 4096, 65_536, MIB].flatMap((size) =>
    ['loop', 'thread'].map((driver) =>
      time('stream of messages', size, `copy, ${driver}`, undefined, `borrow, ${driver}`),
    ),
  ),
  ...inFlight,
  time('peers', 64, 'manual, 10000 peers', 1.2, 'manual, 2 peers'),
  value('idle CPU', undefined, 'thread', 2),
  value('event-loop delay', MIB, 'thread', 2),
  ...['prepared', 'ring', 'promise'].map((form) =>
    value('heap growth', 64, `${form}, loop`, HEAP_NOISE_KIB),
  ),
];
