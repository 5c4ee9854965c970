import { Option } from 'commander';
import type { MultiRecv } from '../../../endpoint/multi-recv.js';
import type { RegionSlice } from '../../../memory/memory-region.js';
import { allocateFor } from '../common/memory.js';
import { fillPattern, verifyPattern } from '../common/pattern.js';
import type { Session } from '../common/session.js';
import { awaiting, NotOffered, TestFailure, verify } from './shared/failure.js';
import type { FunctionalTest } from './shared/functional-test.js';
import { ITERATIONS, SIZE, VERIFY } from './shared/options.js';
import { PerfLines } from './shared/perf-lines.js';
import type { TestSide } from './shared/test-side.js';

const MOST = 2 ** 20;
const BUFFERS = 2;
const MESSAGES = 64; // messages per buffer, unless they are too long
// Sends between checks for Ctrl-C and the peer's end.
const YIELD_EVERY = 256;

/** fabtests' multi_recv: several messages share a receive buffer. */
export const multiRecv: FunctionalTest = {
  command: 'multi-recv',
  type: 'FI_EP_RDM',
  oobSync: true,
  oobExchange: true,
  size: 1024,
  iterations: 1000,
  summary: 'messages share a receive buffer',
  description:
    'The client sends messages. The server receives them in two buffers of many messages each ' +
    '(FI_MULTI_RECV). The provider releases a full buffer, and the server posts it again.',
  options: [
    SIZE,
    ITERATIONS,
    VERIFY,
    new Option('-M, --recvmsg', 'post with fi_recvmsg (it always is)'),
  ],
  hostOnly: () =>
    'this package gives the messages of a multi-receive buffer as bytes of the host; cq-data and rdm-bw receive in memory of a device',
  run,
};

async function run(side: TestSide): Promise<string> {
  const { size, iterations } = side;
  if (size < 1 || size > MOST) throw new NotOffered(`-S: from 1 to ${MOST} bytes, not ${size}`);
  const session = await side.open({
    caps: ['FI_MSG', 'FI_MULTI_RECV'],
    options: { FI_OPT_MIN_MULTI_RECV: size },
  });
  const most = Number(session.info.epAttr.maxMsgSize);
  if (size > most) throw new NotOffered(`-S: the provider's messages have at most ${most} bytes`);
  const transfer =
    side.role === 'client' ? await sender(side, session) : await receiver(side, session);
  await awaiting('a sync before the messages', session.sync());
  const start = performance.now();
  const detail = await transfer();
  const seconds = (performance.now() - start) / 1000;
  new PerfLines(side).tell({ size, iterations, seconds, transfersPerIteration: 1 });
  await awaiting('a sync after the messages', session.sync());
  return detail;
}

async function sender(side: TestSide, session: Session) {
  const { size, iterations } = side;
  const region = await allocateFor(session.domain, size, ['FI_SEND']);
  fillPattern(region.bytes.subarray(0, size));
  return async () => {
    const batch = session.batch((b) => b.send(region.slice(0, size), session.peer));
    for (let i = 0; i < iterations; i++) {
      await awaiting(`the completion of send ${i + 1}`, session.complete(batch));
      if (i % YIELD_EVERY === 0) await session.waiter.yieldToEvents();
    }
    batch.close(); // after an error it closes with the endpoint
    return `${iterations} messages of ${size} bytes were sent`;
  };
}

async function receiver(side: TestSide, session: Session) {
  const { size, iterations } = side;
  const { verify: verifies } = side.settings;
  const half = Math.floor(Math.min(size * MESSAGES * BUFFERS, MOST * 4) / BUFFERS);
  const region = await allocateFor(session.domain, half * BUFFERS, ['FI_RECV']);
  const buffers = Array.from(
    { length: BUFFERS },
    (_, i) => new Shared(session, region.slice(i * half, (i + 1) * half)),
  );
  const each = Math.floor(half / size);
  session.domain.progress();
  return async () => {
    let posted = 0;
    for (let i = 0, turn = 0; i < iterations; turn++) {
      const buffer = buffers[turn % BUFFERS] as Shared;
      const taken = await take(session, buffer, iterations - i, (bytes) => {
        i++;
        checkMessage(bytes, size, i, verifies);
      });
      if (!buffer.released) break;
      if (taken !== each) throw wrongCount(each, taken, half, size);
      buffer.post();
      posted++;
    }
    return (
      `${iterations} messages of ${size} bytes arrived${verifies ? ' as they were sent' : ''} in buffers of ` +
      `${each} messages, of which ${posted} were filled and posted again`
    );
  };
}

/** A receive buffer that is posted repeatedly. */
class Shared {
  readonly #session: Session;
  readonly #slice: RegionSlice;
  #posted: MultiRecv;

  constructor(session: Session, slice: RegionSlice) {
    this.#session = session;
    this.#slice = slice;
    this.#posted = session.ep.multiRecv(slice, { borrow: true });
  }

  get released(): boolean {
    return this.#posted.released;
  }

  post(): void {
    this.#posted = this.#session.ep.multiRecv(this.#slice, { borrow: true });
  }

  next() {
    return this.#posted.next();
  }
}

/** Receives messages of a buffer until the provider releases it or `most` have arrived. */
async function take(
  session: Session,
  buffer: Shared,
  most: number,
  look: (bytes: Uint8Array) => void,
): Promise<number> {
  for (let taken = 0; ; taken++) {
    if (taken === most && !buffer.released) return taken;
    const what = `message ${taken + 1} of a buffer`;
    const { value, done } = await awaiting(what, session.until(buffer.next()));
    if (done) return taken;
    look(value.bytes);
  }
}

function checkMessage(bytes: Uint8Array, size: number, count: number, verifies: boolean): void {
  if (bytes.length !== size) {
    throw new TestFailure(
      `a completion of ${size} bytes`,
      `one of ${bytes.length}, message ${count}`,
      'whether both sides have the same -S',
    );
  }
  if (verifies) verify(`message ${count}`, () => verifyPattern(bytes));
}

function wrongCount(expected: number, found: number, bytes: number, size: number): TestFailure {
  return new TestFailure(
    `a buffer of ${bytes} bytes back after ${expected} messages of ${size} bytes`,
    `it back after ${found}`,
    'the provider: FI_OPT_MIN_MULTI_RECV sets when it must release a buffer',
  );
}
