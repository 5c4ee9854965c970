import type { Session } from '../../common/session.js';
import { awaiting, TestFailure } from './failure.js';
import type { TestSide } from './test-side.js';

const TEXT = 'Hello from Client!';
const GREETING = Buffer.from(`${TEXT}\0`);

/** Runs one side: ft_send_greeting() and ft_recv_greeting(). */
export async function exchangeGreeting(side: TestSide): Promise<string> {
  const { role, settings } = side;
  // A datagram that arrives when no receive is posted is dropped.
  const beforePeerSends = (session: Session) => {
    if (role === 'server') session.postReceive();
  };
  const session = await side.open({ caps: ['FI_MSG'] }, { beforePeerSends });
  if (role === 'client') {
    await sendGreeting(side, session);
    return `a message of ${GREETING.length} bytes was sent`;
  }
  await receiveGreeting(side, session);
  for (let i = 1; i < settings.connections; i++) {
    session.postReceive();
    await side.nextClient(session);
    await receiveGreeting(side, session);
  }
  const { connections } = settings;
  const arrived = `a message of ${GREETING.length} bytes arrived as it was sent`;
  return connections === 1 ? arrived : `${arrived}, from each of ${connections} clients`;
}

async function sendGreeting(side: TestSide, session: Session): Promise<void> {
  side.say('Sending message...');
  await awaiting('the completion of the send', session.send(GREETING));
  side.say('Send completion received');
}

async function receiveGreeting(side: TestSide, session: Session): Promise<void> {
  side.say('Waiting for message from client...');
  const bytes = Buffer.from(await awaiting("the client's greeting", session.receive()));
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
