import type { Completion } from '../../../../engine/completion.js';
import type { Buffers } from '../../common/buffers.js';
import type { Session } from '../../common/session.js';
import { awaiting, TestFailure } from './failure.js';
import { receiveNext, sendNext } from './next-message.js';
import type { TestSide } from './test-side.js';

const TEXT = 'Hello from Client!';
const GREETING = Buffer.from(`${TEXT}\0`);

/** Runs one side: ft_send_greeting() and ft_recv_greeting(). */
export async function exchangeGreeting(side: TestSide): Promise<string> {
  const { role, settings } = side;
  // A datagram that arrives when no receive is posted is dropped.
  const receives = new Greetings();
  const beforePeerSends = async (opened: Session) => {
    if (role === 'server') await receives.post(opened);
  };
  const options = { beforePeerSends, shortest: GREETING.length };
  const session = await side.open({ caps: ['FI_MSG'] }, options);
  if (role === 'client') {
    await sendGreeting(side, session);
    return `a message of ${GREETING.length} bytes was sent`;
  }
  await receiveGreeting(side, session, receives);
  for (let i = 1; i < settings.connections; i++) {
    await receives.post(session);
    await side.nextClient(session);
    await receiveGreeting(side, session, receives);
  }
  const { connections } = settings;
  const arrived = `a message of ${GREETING.length} bytes arrived as it was sent`;
  return connections === 1 ? arrived : `${arrived}, from each of ${connections} clients`;
}

/** The receives of greetings: control messages, or messages to memory of a device. */
class Greetings {
  #buffers: Buffers | undefined;
  #posted: Promise<Completion> | undefined;

  /** Posts a receive. In band, the client's address arrives before the greeting. */
  async post(session: Session): Promise<void> {
    const { deviceMemory, oobExchange } = session.settings;
    if (deviceMemory === undefined) {
      session.postReceive();
      return;
    }
    this.#buffers ??= await session.allocate(GREETING.length, 1, ['FI_RECV']);
    if (!oobExchange) session.postReceive();
    this.#posted = receiveNext(session, this.#buffers.receiving(GREETING.length));
  }

  async next(session: Session): Promise<Uint8Array> {
    const [buffers, posted] = [this.#buffers, this.#posted];
    if (buffers === undefined || posted === undefined) return session.receive();
    const { length } = await session.until(posted);
    const received = buffers.receiving(length);
    const bytes = buffers.memory.read(received);
    buffers.memory.clear(received);
    return bytes;
  }
}

async function sendGreeting(side: TestSide, session: Session): Promise<void> {
  side.say('Sending message...');
  await awaiting('the completion of the send', send(session));
  side.say('Send completion received');
}

async function send(session: Session): Promise<void> {
  if (session.settings.deviceMemory === undefined) return session.send(GREETING);
  const buffers = await session.allocate(GREETING.length, 1, ['FI_SEND']);
  const slice = buffers.sending(GREETING.length);
  buffers.memory.write(slice, GREETING);
  return session.until(sendNext(session, slice));
}

async function receiveGreeting(
  side: TestSide,
  session: Session,
  receives: Greetings,
): Promise<void> {
  side.say('Waiting for message from client...');
  const bytes = Buffer.from(await awaiting("the client's greeting", receives.next(session)));
  if (!bytes.equals(GREETING)) {
    throw new TestFailure(
      `the greeting '${TEXT}' (${GREETING.length} bytes)`,
      `${bytes.length} bytes, '${printable(bytes)}'`,
      'what the peer runs; otherwise check the provider: it delivers other bytes than were sent',
    );
  }
  side.say('Data check OK');
  side.say(`Received data from client: ${TEXT}`);
}

const printable = (bytes: Buffer) =>
  bytes
    .subarray(0, 40)
    .toString('latin1')
    .replaceAll(/[^ -~]/g, '.');
