import type { Peer } from '../../../../peer.js';
import type { RemoteRegion } from '../../../../remote-region.js';
import type { Buffers } from '../../common/buffers.js';
import { CONTROL_BYTES } from '../../common/handshake.js';
import type { TestEndpoint } from '../../common/open-endpoint.js';
import { checkPattern, fillPattern } from '../../common/pattern.js';
import { decodeKeys, encodeKeys, RMA_ACCESS } from '../../common/rma.js';
import type { Session } from '../../common/session.js';
import { awaiting, verify } from './failure.js';
import type { CheckSide } from './test-side.js';

/** An endpoint, and its partner at the other side. */
export interface Partnership {
  readonly ep: TestEndpoint;
  readonly peer: Peer;
}

/**
 * What fabtests do since 2.0: each endpoint writes to the memory of its partner, which has sent the
 * key for it; then once more, to memory that is registered anew.
 */
export async function writeToPartners(
  side: CheckSide,
  session: Session,
  partners: readonly Partnership[],
): Promise<void> {
  await writeOnce(side, session, partners);
  side.say('Testing closing and re-registering all MRs and retesting');
  await writeOnce(side, session, partners);
}

async function writeOnce(side: CheckSide, session: Session, partners: readonly Partnership[]) {
  const { size } = side;
  const buffers = await session.allocate(size, partners.length, RMA_ACCESS);
  side.say(`Send RMA info to all ${partners.length} remote EPs`);
  const remotes = await exchangeKeys(session, partners, buffers, size);
  await exchange(session, partners, () => new Uint8Array(0), 'a sync before the writes');
  side.say('PASSED multi ep sends');
  const writes = partners.map(({ ep, peer }, i) => {
    const bytes = buffers.sending(size, i * size);
    fillPattern(bytes.bytes);
    return ep.write(bytes, peer, remotes[i] as RemoteRegion);
  });
  await awaiting('the completion of all writes', session.until(Promise.all(writes)));
  side.say('Wait for all writes from peer');
  await exchange(session, partners, () => new Uint8Array(0), 'a sync after the writes');
  if (side.settings.verify) {
    for (const i of partners.keys()) {
      const { bytes } = buffers.receiving(size, i * size);
      verify(`what was written to endpoint ${i + 1}`, () => checkPattern(bytes));
    }
    side.say('Data check OK');
  }
  side.say('PASSED multi ep writes');
  await buffers.region.close();
}

/** Tells each partner where it may write, and learns the same of it. */
async function exchangeKeys(
  session: Session,
  partners: readonly Partnership[],
  { region }: Buffers,
  size: number,
): Promise<RemoteRegion[]> {
  const keys = (i: number) =>
    encodeKeys({ address: region.address + BigInt(i * size), length: size, key: region.key });
  const messages = await exchange(session, partners, keys, 'an exchange of memory keys');
  return messages.map((message) => session.domain.remote(decodeKeys(message, size)));
}

/** Each endpoint, one after another, sends a message to its partner, and receives one. */
async function exchange(
  session: Session,
  partners: readonly Partnership[],
  message: (index: number) => Uint8Array,
  what: string,
): Promise<Uint8Array[]> {
  const messages: Uint8Array[] = [];
  for (const [i, { ep, peer }] of partners.entries()) {
    const room = new Uint8Array(CONTROL_BYTES);
    const both = Promise.all([ep.recv(room), ep.send(message(i), peer)]);
    const [{ length }] = await awaiting(`${what} of endpoint ${i + 1}`, session.until(both));
    messages.push(room.subarray(0, length));
  }
  return messages;
}
