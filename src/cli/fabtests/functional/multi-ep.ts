import { Option } from 'commander';
import { FabricError } from '../../../base/errors.js';
import type { Peer } from '../../../base/peer.js';
import type { RemoteRegion } from '../../../memory/remote-region.js';
import { exchangeEndpointAddress } from '../common/address-exchange.js';
import type { Buffers } from '../common/buffers.js';
import { withDeviceMemory } from '../common/device-memory.js';
import { finalize } from '../common/finalize.js';
import { findEntry, type Needs, type TestEndpoint } from '../common/open-endpoint.js';
import { count } from '../common/options.js';
import { CONTROL_BYTES } from '../common/peer-info.js';
import { decodeKeys, encodeKeys, RMA_ACCESS } from '../common/rma.js';
import type { Session } from '../common/session.js';
import type { Settings } from '../common/settings.js';
import { awaiting, NotOffered, TestFailure, verify } from './shared/failure.js';
import type { FunctionalTest } from './shared/functional-test.js';
import { VERIFY } from './shared/options.js';
import type { TestSide } from './shared/test-side.js';

const ENDPOINTS = 3;
const NEEDS: Needs = { caps: ['FI_MSG', 'FI_RMA'] };

interface Own {
  readonly endpoints?: number;
  readonly sharedAv?: true;
  readonly sharedCq?: true;
}

/** fabtests' multi_ep: several endpoints of one domain, each with a partner at the peer. */
export const multiEp: FunctionalTest<Own> = {
  command: 'multi-ep',
  type: 'FI_EP_RDM',
  oobExchange: true,
  size: 256,
  summary: 'a domain may have several endpoints',
  description:
    'Both sides open endpoints in one domain, each with an address vector and a completion queue, or with ' +
    'shared ones. Each endpoint sends to its partner and receives from it. If both sides are of release 2.0 or ' +
    "newer, each also writes twice to its partner's memory, which is registered again in between.",
  options: [
    new Option('-c, --endpoints <n>', `endpoints (default: ${ENDPOINTS})`).argParser(
      count(1, 1024),
    ),
    new Option('-A, --shared-av', 'one address vector for all endpoints'),
    new Option('-Q, --shared-cq', 'one completion queue for all endpoints'),
    VERIFY,
  ],
  run,
};

async function run(side: TestSide<Own>): Promise<string> {
  const { endpoints = ENDPOINTS } = side.own;
  const session = await side.open(NEEDS);
  const writes = session.dialect.release >= 200;
  side.say(`Creating ${endpoints} EPs`);
  const opened = Array.from({ length: endpoints }, openerOf(side, session));
  const partners = await pairEndpoints(session, opened);
  if (writes) await writeToPartners(side, session, partners);
  else await sendToPartners(side, session, partners);
  await awaiting('the end of the peer', finalize(session));
  side.say('PASSED multi ep');
  const had = writes ? 'messages and two writes' : 'a message';
  const verified = side.settings.verify ? ', as it was sent' : '';
  return `each of ${endpoints} endpoints of one domain has had ${had} of ${side.size} bytes from its partner${verified}`;
}

function openerOf({ own }: TestSide<Own>, { domain, ep, settings, connections }: Session) {
  const [withMemory, needs] = withDeviceMemory(withoutPort(settings), NEEDS);
  const info = findEntry(withMemory, needs, connections.oob?.localAddress);
  return () => {
    const av = own.sharedAv ? ep.av : domain.addressVector();
    const cq = own.sharedCq ? ep.receiveQueue : domain.completionQueue();
    try {
      return domain.endpoint(info, { av, cq }) as unknown as TestEndpoint;
    } catch (error) {
      if (!FabricError.is(error) || error.syscall !== 'fi_ep_bind') throw error;
      throw new NotOffered(`the provider does not share it among endpoints: ${error.message}`);
    }
  };
}

// The first endpoint uses the port.
function withoutPort({ sourcePort: _, ...settings }: Settings): Settings {
  return settings;
}

async function pairEndpoints(session: Session, opened: readonly TestEndpoint[]) {
  const partners: PairedEndpoint[] = [];
  for (const [i, ep] of opened.entries()) {
    const what = `the address of endpoint ${i + 1}`;
    partners.push({ ep, peer: await awaiting(what, exchangeEndpointAddress(session, ep)) });
  }
  return partners;
}

async function sendToPartners(
  side: TestSide,
  session: Session,
  partners: readonly PairedEndpoint[],
) {
  const { size } = side;
  const buffers = await session.allocate(size, partners.length, ['FI_SEND', 'FI_RECV']);
  const receives = partners.map(({ ep }, i) => ep.recv(buffers.receiving(size, i * size)));
  side.say(`Send to all ${partners.length} remote EPs`);
  const sends = partners.map(({ ep, peer }, i) => {
    const bytes = buffers.sending(size, i * size);
    buffers.memory.fill(bytes);
    return ep.send(bytes, peer);
  });
  side.say('Wait for all messages from peer');
  for (const promise of [...receives, ...sends]) promise.catch(() => {}); // the first failure is reported
  for (const i of partners.keys()) {
    await awaiting(`the completion of endpoint ${i + 1}`, session.until(sends[i] as Promise<void>));
    const what = `the message to endpoint ${i + 1}`;
    const { length } = await awaiting(
      what,
      session.until(receives[i] as (typeof receives)[number]),
    );
    if (length !== size) {
      throw new TestFailure(`${size} bytes in ${what}`, `${length}`, 'what the peer runs');
    }
  }
  if (!side.settings.verify) return;
  for (const i of partners.keys()) {
    const received = buffers.receiving(size, i * size);
    verify(`the message to endpoint ${i + 1}`, () => buffers.memory.verify(received));
  }
  side.say('Data check OK');
}

/** An endpoint, and its partner at the peer. */
export interface PairedEndpoint {
  readonly ep: TestEndpoint;
  readonly peer: Peer;
}

/**
 * Since fabtests 2.0 each endpoint writes to its partner's memory, with the key that the partner
 * sent. Then the memory is registered again, and each endpoint writes once more.
 */
export async function writeToPartners(
  side: TestSide,
  session: Session,
  partners: readonly PairedEndpoint[],
): Promise<void> {
  await writeOnce(side, session, partners);
  side.say('Testing closing and re-registering all MRs and retesting');
  await writeOnce(side, session, partners);
}

async function writeOnce(side: TestSide, session: Session, partners: readonly PairedEndpoint[]) {
  const { size } = side;
  const buffers = await session.allocate(size, partners.length, RMA_ACCESS);
  side.say(`Send RMA info to all ${partners.length} remote EPs`);
  const remotes = await exchangeKeys(session, partners, buffers, size);
  await exchange(session, partners, () => new Uint8Array(0), 'a sync before the writes');
  side.say('PASSED multi ep sends');
  const writes = partners.map(({ ep, peer }, i) => {
    const bytes = buffers.sending(size, i * size);
    buffers.memory.fill(bytes);
    return ep.write(bytes, peer, remotes[i] as RemoteRegion);
  });
  await awaiting('the completion of all writes', session.until(Promise.all(writes)));
  side.say('Wait for all writes from peer');
  await exchange(session, partners, () => new Uint8Array(0), 'a sync after the writes');
  if (side.settings.verify) {
    for (const i of partners.keys()) {
      const written = buffers.receiving(size, i * size);
      verify(`what was written to endpoint ${i + 1}`, () => buffers.memory.verify(written));
    }
    side.say('Data check OK');
  }
  side.say('PASSED multi ep writes');
  await buffers.region.close();
}

/** Exchanges memory addresses and keys with each partner. */
async function exchangeKeys(
  session: Session,
  partners: readonly PairedEndpoint[],
  { region }: Buffers,
  size: number,
): Promise<RemoteRegion[]> {
  const keys = (i: number) =>
    encodeKeys({ address: region.address + BigInt(i * size), length: size, key: region.key });
  const messages = await exchange(session, partners, keys, 'an exchange of memory keys');
  return messages.map((message) => session.domain.remote(decodeKeys(message, size)));
}

/** Each endpoint in turn sends a message to its partner and receives one. */
async function exchange(
  session: Session,
  partners: readonly PairedEndpoint[],
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
