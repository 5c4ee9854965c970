import { Option } from 'commander';
import type { RegionSlice } from '../../../memory/memory-region.js';
import type { Dialect } from '../common/dialect.js';
import type { TestMemory } from '../common/memory.js';
import { count } from '../common/options.js';
import type { Session } from '../common/session.js';
import { awaiting, TestFailure, verify } from './shared/failure.js';
import type { FunctionalTest } from './shared/functional-test.js';
import { ITERATIONS, SIZE, VERIFY } from './shared/options.js';
import type { TestSide } from './shared/test-side.js';

const TAG = 0x1234;
const REPORTED = 100; // iterations between lines
const ADDRESSES_SENT_AGAIN_SINCE = 119; // the release since which clients also send their addresses as messages

interface Own {
  readonly size?: { readonly size: number };
  readonly messages?: number;
  readonly cqData?: true;
}

/** The number of messages that fabtests send by default. */
const usual = ({ release }: Dialect) =>
  release >= ADDRESSES_SENT_AGAIN_SINCE
    ? { bytes: 128, messages: 4 }
    : { bytes: 1024, messages: 5 };

/** fabtests' unexpected_msg: messages that arrive before their receives are posted. */
export const unexpectedMsg: FunctionalTest<Own> = {
  command: 'unexpected-msg',
  type: 'FI_EP_RDM',
  oobSync: true,
  oobExchange: true,
  iterations: 600,
  summary: 'messages may come before their receives',
  description:
    'Both sides send tagged messages, then post the receives in reverse order of the tags: each message is ' +
    'unexpected and must match its own receive.',
  options: [
    SIZE,
    ITERATIONS,
    VERIFY,
    new Option('-M, --messages <n>', 'messages at once (default: 4; before 1.19: 5)').argParser(
      count(1, 65_535),
    ),
    new Option('-C, --cq-data', 'send remote CQ data with them: the number of bytes'),
  ],
  run,
};

async function run(side: TestSide<Own>): Promise<string> {
  const session = await side.open({
    caps: ['FI_TAGGED'],
    domain: { resourceMgmt: 'FI_RM_ENABLED' },
  });
  if (!session.samePackage && session.dialect.release >= ADDRESSES_SENT_AGAIN_SINCE)
    await sendAddressesAgain(session);
  const { iterations } = side;
  const { bytes, messages: several } = usual(session.dialect);
  const { size: { size } = { size: bytes }, messages = several, cqData } = side.own;
  const place = Math.max(size, 1);
  const buffers = await session.allocate(place, messages, ['FI_SEND', 'FI_RECV']);
  const sending = (i: number) => buffers.sending(size, i * place);
  const receiving = (i: number) => buffers.receiving(size, i * place);
  for (let i = 0; i < messages; i++) buffers.memory.fill(sending(i));
  for (let i = 0; i < iterations; i++) {
    const sends = Array.from({ length: messages }, (_, j) =>
      send(session, sending(j), TAG + j, cqData),
    );
    const sent = Promise.all(sends);
    sent.catch(() => {}); // it is awaited below, unless something else fails first
    session.domain.progress();
    await awaiting('a sync after the sends', session.sync());
    for (let j = messages - 1; j >= 0; j--) {
      await receive(side, session, buffers.memory, receiving(j), TAG + j);
    }
    await awaiting('the completion of all sends', session.until(sent));
    if (i % REPORTED === 0) {
      side.say(`PID ${process.pid} GOOD iter ${i}/${iterations} completed`);
    }
  }
  await awaiting('a sync after the last message', session.sync());
  side.say(`PID ${process.pid} GOOD all done`);
  const verified = side.settings.verify ? ' as they were sent' : '';
  return `${iterations} times ${messages} messages of ${size} bytes arrived before their receives, and each matched its own${verified}`;
}

function send(session: Session, bytes: RegionSlice, tag: number, withData?: true): Promise<void> {
  const { ep, peer } = session;
  return withData ? ep.tsenddata(bytes, bytes.length, peer, tag) : ep.tsend(bytes, peer, tag);
}

async function receive(
  side: TestSide<Own>,
  session: Session,
  memory: TestMemory,
  into: RegionSlice,
  tag: number,
): Promise<void> {
  const what = `the message with tag 0x${tag.toString(16)}`;
  if (side.settings.verify) memory.clear(into);
  const found = await awaiting(what, session.until(session.ep.trecv(into, null, tag)));
  const { length } = into;
  if (found.length !== length || (found.tag !== BigInt(tag) && found.tag !== 0n)) {
    throw new TestFailure(
      `${length} bytes with tag 0x${tag.toString(16)}`,
      `${found.length} bytes with tag 0x${found.tag.toString(16)}`,
      'whether both sides have the same -S and -M; otherwise check the provider: it mixes messages up',
    );
  }
  if (side.own.cqData && found.data !== BigInt(length)) {
    throw new TestFailure(
      `remote CQ data ${length} with ${what}`,
      found.data === undefined ? 'a completion without FI_REMOTE_CQ_DATA' : `${found.data}`,
      'whether both sides have -C; otherwise check the provider: some (efa 1.17, sockets) lose the flag or the data of unexpected messages',
    );
  }
  if (side.settings.verify) verify(what, () => memory.verify(into));
}

/** Since 1.19, fabtests' client sends its address again in two messages, and the server answers. */
async function sendAddressesAgain(session: Session): Promise<void> {
  const { ep, role } = session;
  if (role === 'client') {
    const sends = [0, 1].map((tag) => ep.tsend(ep.address, session.peer, tag));
    await awaiting('a sync after the addresses', session.sync());
    await awaiting('the completion of the addresses', session.until(Promise.all(sends)));
    const answer = ep.trecv(new Uint8Array(256), null, 0);
    await awaiting('an answer to the addresses', session.until(answer));
    return;
  }
  await awaiting('a sync after the addresses', session.sync());
  for (const tag of [0, 1]) {
    const address = ep.trecv(new Uint8Array(256), null, tag);
    await awaiting("the client's address", session.until(address));
  }
  await awaiting(
    'the completion of the answer',
    session.until(ep.tsend(new Uint8Array(1), session.peer, 0)),
  );
}
