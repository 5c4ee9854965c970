import { exchangeEndpointAddress } from '../common/address-exchange.js';
import type { OobSocket } from '../common/oob.js';
import type { Session } from '../common/session.js';
import { awaiting, NotOffered, TestFailure, verify } from './shared/failure.js';
import type { FunctionalTest } from './shared/functional-test.js';
import { receiveNext, sendNext } from './shared/next-message.js';
import type { TestSide } from './shared/test-side.js';

/** fabtests' av_xfer: messages arrive after addresses were removed and inserted again. */
export const avXfer: FunctionalTest = {
  command: 'av-xfer',
  type: 'FI_EP_RDM',
  oobSync: true,
  oobExchange: true,
  size: 1024,
  summary: 'an address may be removed and inserted again',
  description:
    'The client sends a message to the server. Both sides remove the peer from their address vectors and insert ' +
    'it again, and the server sends a message. Then this repeats, with both messages from the client.',
  run,
};

async function run(side: TestSide): Promise<string> {
  const oob = await removal(side, undefined, 'server');
  side.say('AV address removal: PASS');
  await removal(side, oob, 'client');
  side.say('AV re-insertion address: PASS');
  const proved =
    'messages arrived in both directions after the address of the peer was removed and inserted again';
  return keepsAddresses(side.entry) ? `${proved} (efa itself has kept it)` : proved;
}

// With efa this package keeps removed addresses. Otherwise efa would restart its message numbers
// while the peer continues to count. Both sides must do the same.
const keepsAddresses = (entry: Session['info'] | undefined) =>
  entry?.fabricAttr.provName?.startsWith('efa') === true;

/**
 * Both sides remove each other's address between two messages. `sender` sends the second message.
 */
async function removal(
  side: TestSide,
  oob: OobSocket | undefined,
  sender: 'client' | 'server',
): Promise<OobSocket | undefined> {
  const caps = side.release < 201 ? (['FI_TAGGED'] as const) : (['FI_MSG'] as const);
  const session = await side.open({ caps }, { oob, handshake: true });
  if (!session.samePackage && keepsAddresses(session.info)) {
    throw new NotOffered(
      'fabtests at the peer remove addresses from efa, but this package keeps them: efa would ' +
        'abort. Use this package on both sides',
    );
  }
  const buffers = await session.allocate(side.size, 2, ['FI_SEND', 'FI_RECV']);
  const into = [0, 1].map((i) => buffers.receiving(side.size, i * side.size));
  const bytes = buffers.sending(side.size);
  buffers.memory.fill(bytes);

  const transfer = async (from: 'client' | 'server', what: string, index: number) => {
    if (side.role === from) {
      await awaiting(`the completion of ${what}`, session.until(sendNext(session, bytes)));
      return;
    }
    const slice = into[index] as (typeof into)[number];
    const { length } = await awaiting(what, session.until(receiveNext(session, slice)));
    if (length !== side.size) {
      throw new TestFailure(`${side.size} bytes in ${what}`, `${length}`, 'what the peer runs');
    }
    // fabtests do not fill their messages.
    if (session.samePackage) verify(what, () => buffers.memory.verify(slice));
  };

  await transfer('client', 'the message before the removal', 0);
  await awaiting('the removal of the address', session.until(session.ep.av.remove(session.peer)));
  await awaiting('a sync after the removal', session.sync());
  session.peer = await awaiting(
    'an exchange of addresses after the removal',
    exchangeEndpointAddress(session, session.ep),
  );
  await transfer(sender, 'the message after the address was inserted again', 1);
  await awaiting('a sync after the messages', session.sync());
  return endOf(side, session, oob);
}

async function endOf(side: TestSide, session: Session, oob: OobSocket | undefined) {
  if (oob !== undefined) return undefined; // the connection closes with the test
  return side.closeKeepingOob(session);
}
