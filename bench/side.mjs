// The parts that every JavaScript side of a pair needs: its command line, the exchange of lines with
// the peer, timing and reporting. The counterpart of the C++ loops is cpp/side.h.
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

/** Parses (server|client) --sizes 1:400000,65536:20000 [--window 64] and the program's own options. */
export function parseSide(extra = {}) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      sizes: { type: 'string', default: '64:1000' },
      window: { type: 'string', default: '64' },
      ...extra,
    },
  });
  const sizes = values.sizes.split(',').map((item) => {
    const [bytes, iterations] = item.split(':').map(Number);
    return { bytes, iterations };
  });
  return {
    ...values,
    sizes,
    window: Number(values.window),
    server: positionals.includes('server'),
    positionals,
    largest: Math.max(...sizes.map((size) => size.bytes)),
  };
}

const waiting = [];
const arrived = [];
let input;

/** Exchanges one line of text with the peer: addresses, descriptors, or a barrier. */
export function exchange(line) {
  if (!input) {
    input = createInterface({ input: process.stdin });
    input.on('line', (line) => (waiting.length > 0 ? waiting.shift()(line) : arrived.push(line)));
  }
  process.stdout.write(`> ${line}\n`);
  return arrived.length > 0
    ? Promise.resolve(arrived.shift())
    : new Promise((resolve) => waiting.push(resolve));
}

export const exchangeBytes = async (bytes) =>
  new Uint8Array(Buffer.from(await exchange(Buffer.from(bytes).toString('hex')), 'hex'));

/** Closes the exchange, so that the process can end. */
export const endExchange = async () => {
  await exchange('done');
  input.close();
  process.stdin.destroy();
};

export const warmUp = (count) => Math.floor(count / 4) + 1;

/** Runs `count` / 4 turns as warm-up and then `count` timed turns. Returns the timed seconds. */
export async function timed(count, turn) {
  await repeat(warmUp(count), turn);
  const start = process.hrtime.bigint();
  await repeat(count, turn);
  return Number(process.hrtime.bigint() - start) / 1e9;
}

/** Runs turns. Awaits a turn only if it returns a promise, so that others cost no event-loop iteration. */
export async function repeat(count, turn) {
  for (let i = 0; i < count; i++) {
    const pending = turn();
    if (pending instanceof Promise) await pending;
  }
}

/** Prints one measurement. The time is divided by `operations` (a round trip counts as 2). */
export function report(loop, size, operations, seconds) {
  const usPerOp = (seconds * 1e6) / operations;
  reportValue({
    loop,
    size: size.bytes,
    iterations: size.iterations,
    seconds,
    usPerOp,
    MBps: size.bytes / usPerOp,
  });
}

export const reportValue = (measurement) =>
  process.stdout.write(`${JSON.stringify(measurement)}\n`);
