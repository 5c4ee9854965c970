import { Option } from 'commander';
import type { RegionSlice } from '../../../memory/memory-region.js';
import type { Buffers } from '../common/buffers.js';
import type { Session } from '../common/session.js';
import { awaiting, TestFailure, verify } from './shared/failure.js';
import type { FunctionalTest } from './shared/functional-test.js';
import type { TestSide } from './shared/test-side.js';

const [CANCELLED, STANDARD] = [0xc, 0xa];

interface Own {
  readonly verbose?: true;
}

/** fabtests' recv_cancel: cancels a posted receive. */
export const recvCancel: FunctionalTest<Own> = {
  command: 'recv-cancel',
  type: 'FI_EP_RDM',
  size: 1024,
  summary: 'a posted receive can be cancelled',
  description:
    'The server posts two tagged receives and cancels one (fi_cancel). The client then sends to both tags: ' +
    'the cancelled receive takes no message, and a receive that is posted later takes it.',
  options: [new Option('-V, --verbose', 'print every step')],
  run,
};

async function run(side: TestSide<Own>): Promise<string> {
  const session = await side.open({ caps: ['FI_TAGGED'] });
  const buffers = await session.allocate(side.size, 2, ['FI_SEND', 'FI_RECV']);
  if (side.role === 'client') {
    buffers.memory.fill(buffers.sending(side.size));
    await send(side, session, buffers.sending(side.size));
    return `messages went to a receive that was cancelled, and to one that was not`;
  }
  await receive(side, session, buffers);
  return 'a cancelled receive ended with FI_ECANCELED and took no message, and those around it took theirs';
}

function tellerOf(side: TestSide<Own>) {
  return (line: string) => {
    if (side.own.verbose) side.say(line);
  };
}

async function send(side: TestSide<Own>, session: Session, bytes: RegionSlice): Promise<void> {
  const tell = tellerOf(side);
  await awaiting('a message that the receive is cancelled', session.receive());
  const standard = session.ep.tsend(bytes, session.peer, STANDARD);
  tell('STANDARD msg posted to server');
  const cancelled = session.ep.tsend(bytes, session.peer, CANCELLED);
  tell('CANCEL msg posted to server');
  const both = Promise.all([standard, cancelled]);
  await awaiting('the completion of both sends', session.until(both));
}

async function receive(side: TestSide<Own>, session: Session, buffers: Buffers): Promise<void> {
  const tell = tellerOf(side);
  const { ep, domain } = session;
  const { size } = side;
  const into = buffers.receiving(size);
  const abandoned = buffers.receiving(size, size);
  // fabtests do not fill their messages.
  const check = (tag: number) => {
    if (session.samePackage) verify(nameOf(tag), () => buffers.memory.verify(into));
  };
  const cancel = new AbortController();
  const cancelled = ep.trecv(abandoned, null, CANCELLED, 0, { signal: cancel.signal });
  const outcome = cancelled.then(
    ({ length }) => `a message of ${length} bytes`,
    (error) => (error === cancel.signal.reason ? undefined : String(error)),
  );
  const standard = ep.trecv(into, null, STANDARD);
  standard.catch(() => {}); // if the cancellation fails, it rejects when the endpoint closes
  domain.progress();
  cancel.abort();
  const found = await awaiting('FI_ECANCELED of the cancelled receive', session.until(outcome));
  if (found !== undefined) {
    throw new TestFailure(
      'FI_ECANCELED of the cancelled receive',
      found,
      'the provider: fi_cancel(3) must succeed for a receive without a message',
      1,
    );
  }
  tell('GOOD: detected error cq entry');
  await awaiting('the completion of the go-ahead', session.send(new Uint8Array(1)));
  await expectMessage(side, session, standard, STANDARD);
  check(STANDARD);
  buffers.memory.clear(into);
  tell('GOOD: Completed uncancelled recv');
  await expectMessage(side, session, ep.trecv(into, null, CANCELLED), CANCELLED);
  check(CANCELLED);
  tell('GOOD: Completed reposted cancelled recv');
  side.say('GOOD: Completed Recv Cancel Test');
}

const nameOf = (tag: number) => `the message with tag 0x${tag.toString(16)}`;

async function expectMessage(
  side: TestSide<Own>,
  session: Session,
  receive: ReturnType<Session['ep']['trecv']>,
  tag: number,
): Promise<void> {
  const lookAt =
    tag === CANCELLED
      ? 'whether the provider really cancelled the receive: it may have taken the message'
      : 'what the peer runs';
  const what = nameOf(tag);
  const { length } = await awaiting(what, session.until(receive), lookAt);
  if (length === side.size) return;
  throw new TestFailure(`${side.size} bytes in ${what}`, `${length}`, 'what the peer runs');
}
