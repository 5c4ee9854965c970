import { Option } from 'commander';
import type { OpFlag } from '../../../base/flags.js';
import type { RegionSlice } from '../../../memory/memory-region.js';
import { fillPattern, verifyPattern } from '../common/pattern.js';
import type { Session } from '../common/session.js';
import { awaiting, TestFailure, verify } from './shared/failure.js';
import type { FunctionalTest } from './shared/functional-test.js';
import { ITERATIONS, SIZE, VERIFY } from './shared/options.js';
import type { TestSide } from './shared/test-side.js';

const TAG = 0xabcd;
const OVERWRITTEN = 0xb;

const FLAGS = { inject: 'FI_INJECT', inj_complete: 'FI_INJECT_COMPLETE' } as const;

interface Own {
  readonly flag?: keyof typeof FLAGS;
}

/** fabtests' inject_test (msg_inject): the sender reuses its buffer as early as the flags allow. */
export const inject: FunctionalTest<Own> = {
  command: 'inject',
  type: 'FI_EP_RDM',
  size: 1024,
  iterations: 1,
  summary: 'a sender may reuse its buffer as early as the flags allow',
  description:
    'The client sends tagged messages and overwrites its buffer: at once with -A inject (FI_INJECT), after the ' +
    'completion with -A inj_complete (FI_INJECT_COMPLETE). The server verifies the messages.',
  options: [
    new Option('-A, --flag <flag>', 'the flag of the sends (default: none)').choices(
      Object.keys(FLAGS),
    ),
    new Option('-N, --sendmsg', 'give the flag with each send (it always is)'),
    SIZE,
    ITERATIONS,
    VERIFY,
  ],
  hostOnly: () => 'the CPU copies what is injected; unexpected-msg also sends tagged messages',
  run,
};

async function run(side: TestSide<Own>): Promise<string> {
  const flag = side.own.flag && FLAGS[side.own.flag];
  const needs = { caps: ['FI_TAGGED'], domain: { resourceMgmt: 'FI_RM_ENABLED' } } as const;
  const session = await side.open(needs);
  const size = sizeOf(side, session, flag);
  const buffers = await session.allocate(Math.max(size, 1), 1, ['FI_SEND', 'FI_RECV']);
  side.say(`Start testing ${flag ?? 'none'}`);
  const [bytes, into] = [buffers.sending(size), buffers.receiving(size)];
  for (let i = 0; i < side.iterations; i++) {
    if (side.role === 'client') await send(session, bytes, flag);
    else await receive(side, session, into);
  }
  side.say(`GOOD: Completed ${flag ?? 'none'} Testing`);
  const messages = `a message of ${size} bytes, ${side.iterations} times,`;
  if (side.role === 'client') {
    return `${messages} was sent${flag ? ` with ${flag}, and its buffer overwritten` : ''}`;
  }
  return `${messages} arrived${side.settings.verify ? ' as they were sent' : ''}`;
}

/** fabtests cut injected messages to a size that they never set, so these have 0 bytes. */
function sizeOf(side: TestSide<Own>, session: Session, flag: OpFlag | undefined): number {
  if (flag !== 'FI_INJECT') return side.size;
  return session.samePackage ? Math.min(side.size, session.info.txAttr.injectSize) : 0;
}

async function send(session: Session, bytes: RegionSlice, flag: OpFlag | undefined): Promise<void> {
  const { ep, peer, domain } = session;
  fillPattern(bytes.bytes);
  const { operations } = domain.stats();
  const sent = ep.tsend(bytes, peer, TAG, flag && { flags: [flag] });
  sent.catch(() => {}); // it is awaited below
  let done = false;
  const end = () => {
    done = true;
  };
  sent.then(end, end);
  const posted = (async () => {
    while (!done && domain.stats().operations === operations) await new Promise(setImmediate);
  })();
  await awaiting('the provider to take the message', session.until(posted));
  if (flag === 'FI_INJECT') bytes.bytes.fill(OVERWRITTEN);
  await awaiting('the completion of the send', session.until(sent));
  if (flag === 'FI_INJECT_COMPLETE') bytes.bytes.fill(OVERWRITTEN);
}

async function receive(side: TestSide<Own>, session: Session, into: RegionSlice): Promise<void> {
  const what = 'a message with tag 0xabcd';
  into.bytes.fill(0);
  const { length } = await awaiting(what, session.until(session.ep.trecv(into, null, TAG)));
  if (length !== into.length) {
    const lookAt = 'whether both sides have the same -S and -A';
    throw new TestFailure(`${into.length} bytes in ${what}`, `${length}`, lookAt);
  }
  if (side.settings.verify) verify('what arrived', () => verifyPattern(into.bytes));
}
