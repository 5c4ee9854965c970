import { Option } from 'commander';
import type { RemoteRegion } from '../../../memory/remote-region.js';
import type { Buffers } from '../common/buffers.js';
import { exchangeKeys, remoteData } from '../common/rma.js';
import type { Session } from '../common/session.js';
import { awaiting, TestFailure, verify } from './shared/failure.js';
import type { FunctionalTest } from './shared/functional-test.js';
import type { TestSide } from './shared/test-side.js';

const BYTES = 1000;
const EBADFLAGS = 1;

/** fabtests' cq_data: remote CQ data arrives with its message or write. */
export const cqData: FunctionalTest = {
  command: 'cq-data',
  type: 'FI_EP_RDM',
  types: ['FI_EP_RDM', 'FI_EP_DGRAM'],
  operations: ['senddata', 'writedata'],
  summary: 'remote CQ data arrives',
  description:
    'The client sends a message (or writes, with -o writedata) with remote CQ data (FI_REMOTE_CQ_DATA), ' +
    "which the server's completion must contain.",
  options: [new Option('-o, --operation <op>', 'senddata or writedata (default: senddata)')],
  run,
};

async function run(side: TestSide): Promise<string> {
  const writes = side.settings.operation === 'writedata';
  const arrival = new Arrival();
  const session = await side.open(
    { caps: writes ? ['FI_MSG', 'FI_RMA'] : ['FI_MSG'] },
    // The receive is posted before the message arrives, because some providers otherwise lose the
    // data.
    {
      async beforePeerSends(opened) {
        if (side.role === 'server' && !writes) await arrival.post(opened);
      },
    },
  );
  const data = remoteData(session);
  const buffers =
    arrival.buffers ??
    (await session.allocate(BYTES, 1, [
      'FI_SEND',
      'FI_RECV',
      ...(writes ? (['FI_WRITE', 'FI_REMOTE_WRITE'] as const) : []),
    ]));
  if (writes && side.role === 'server') arrival.expectWrite(session);
  const remote = writes
    ? await awaiting('an exchange of memory keys', exchangeKeys(session, buffers))
    : undefined;
  if (side.role === 'client') {
    buffers.memory.fill(buffers.sending(BYTES));
    await send(side, session, buffers, data, remote);
  } else {
    side.say('Waiting for CQ data from client');
    const { data: found, length } = await awaiting(
      `a completion with the data 0x${data.toString(16)}`,
      session.until(arrival.awaited),
    );
    compare(data, found, length);
    // fabtests do not fill their messages.
    if (session.samePackage) {
      verify('what came with the data', () => buffers.memory.verify(buffers.receiving(BYTES)));
    }
    side.say('remote_cq_data: success');
  }
  const how = `${session.ep.limits.remoteData} bytes of remote CQ data`;
  if (side.role === 'client') return `${how} were sent with a ${writes ? 'write' : 'message'}`;
  return `${how} arrived with a ${writes ? 'write' : 'message'} of ${BYTES} bytes`;
}

interface Arrived {
  readonly data: bigint | undefined;
  readonly length: number;
}

/** The completion that the server awaits. */
class Arrival {
  awaited: Promise<Arrived> = Promise.reject(new Error('nothing is awaited'));
  /** The memory of the posted receive. */
  buffers: Buffers | undefined;

  constructor() {
    this.awaited.catch(() => {});
  }

  /** Posts the receive. In band, the client's address arrives before the message. */
  async post(session: Session): Promise<void> {
    this.buffers = await session.allocate(BYTES, 1, ['FI_RECV']);
    if (!session.settings.oobExchange) session.postReceive();
    this.#set(session.ep.recv(this.buffers.receiving(BYTES)));
  }

  expectWrite(session: Session): void {
    const immediates = session.ep.receiveQueue.immediates();
    this.#set(
      immediates.next().then(({ value }) => {
        if (value === undefined) throw new Error('the completion queue was closed');
        // Not every provider reports the length of a write.
        return { data: value.data, length: value.length || BYTES };
      }),
    );
  }

  #set(awaited: Promise<Arrived>): void {
    awaited.catch(() => {}); // it rejects if the endpoint closes first
    this.awaited = awaited;
  }
}

async function send(
  side: TestSide,
  session: Session,
  buffers: Buffers,
  data: bigint,
  remote: RemoteRegion | undefined,
): Promise<void> {
  const { ep, peer } = session;
  const bytes = buffers.sending(BYTES);
  side.say(`Posting ${remote ? 'write' : 'send'} with CQ data: 0x${data.toString(16)}`);
  const sent = remote ? ep.writedata(bytes, data, peer, remote) : ep.senddata(bytes, data, peer);
  await awaiting(`the completion of the ${remote ? 'write' : 'send'}`, session.until(sent));
  side.say('Done');
}

function compare(data: bigint, found: bigint | undefined, length: number): void {
  const hex = (value: bigint) => `0x${value.toString(16)}`;
  if (found === undefined) {
    throw new TestFailure(
      `the data ${hex(data)}`,
      'a completion without FI_REMOTE_CQ_DATA',
      'whether the peer sends data; otherwise check the provider, which loses it',
      EBADFLAGS,
    );
  }
  if (found !== data) {
    throw new TestFailure(
      `the data ${hex(data)}`,
      hex(found),
      'domainAttr.cqDataSize of both sides (npx libfabric info -v): it must be the same',
    );
  }
  if (length !== BYTES) {
    throw new TestFailure(`a transfer of ${BYTES} bytes`, `one of ${length}`, 'what the peer runs');
  }
}
