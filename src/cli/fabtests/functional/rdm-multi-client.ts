import { Option } from 'commander';
import { FabricError } from '../../../base/errors.js';
import type { Hints } from '../../../info/hints.js';
import type { OobSocket } from '../common/oob.js';
import type { Session } from '../common/session.js';
import { awaiting, NotOffered, verify } from './shared/failure.js';
import type { FunctionalTest } from './shared/functional-test.js';
import { DELIVERY_COMPLETE, ITERATIONS, SIZE } from './shared/options.js';
import type { TestSide } from './shared/test-side.js';

// Messages between checks for Ctrl-C and the peer's end.
const YIELD_EVERY = 256;

interface Own {
  readonly reuseAddress?: true;
}

/** fabtests' rdm_multi_client: one server endpoint, several clients one after another. */
export const multiClient: FunctionalTest<Own> = {
  command: 'rdm-multi-client',
  type: 'FI_EP_RDM',
  size: 1024,
  iterations: 1000,
  summary: 'clients come and go',
  description:
    'The server keeps its endpoint while clients (-C on both sides) connect one after another. Each client opens ' +
    'its own endpoint, runs a ping-pong and leaves.',
  options: [
    SIZE,
    ITERATIONS,
    DELIVERY_COMPLETE,
    new Option('-R, --reuse-address', "later clients have the first one's address"),
  ],
  run,
};

async function run(side: TestSide<Own>): Promise<string> {
  const { settings, iterations } = side;
  const { connections } = settings;
  if (side.role === 'server') await runServer(side);
  else await runClients(side);
  const clients = connections === 1 ? 'one client' : `${connections} clients`;
  return `${clients}${side.own.reuseAddress ? ' with one address' : ''} had a ping-pong of ${iterations} messages with one server`;
}

async function runServer(side: TestSide<Own>): Promise<void> {
  const session = await side.open({ caps: ['FI_MSG'] });
  for (let i = 0; i < side.settings.connections; i++) {
    if (i > 0) await side.nextClientOnSameSocket(session);
    await pingpong(side, session);
  }
}

async function runClients(side: TestSide<Own>): Promise<void> {
  let oob: OobSocket | undefined;
  let source: Pick<Hints, 'srcAddr' | 'addrFormat'> | undefined;
  for (let i = 0; i < side.settings.connections; i++) {
    side.say(`Starting client: ${i}`);
    const session = await reusing(
      source !== undefined,
      side.open({ caps: ['FI_MSG'], ...(source && { source }) }, { oob }),
    );
    await pingpong(side, session);
    if (side.own.reuseAddress && source === undefined) {
      source = { srcAddr: session.ep.address, addrFormat: session.info.addrFormat };
    }
    if (i < side.settings.connections - 1) oob = await side.closeKeepingOob(session);
  }
}

async function reusing<T>(reuses: boolean, opening: Promise<T>): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    if (!reuses || !FabricError.is(error)) throw error;
    throw new NotOffered(
      `-R: the provider gives no second endpoint that address: ${error.message}`,
    );
  }
}

async function pingpong(side: TestSide<Own>, session: Session): Promise<void> {
  const { size } = side;
  side.say('Start ping-pong.');
  const buffers = await session.allocate(size, 1, ['FI_SEND', 'FI_RECV']);
  const send = session.batch((b) => b.send(buffers.sending(size), session.peer));
  buffers.memory.fill(buffers.sending(size));
  const receive = session.batch((b) => b.recv(buffers.receiving(size)));
  const order = side.role === 'client' ? [send, receive] : [receive, send];
  for (let i = 0; i < side.iterations; i++) {
    for (const batch of order) {
      const what = batch === send ? 'the completion of send' : 'message';
      await awaiting(`${what} ${i + 1}`, session.complete(batch));
    }
    if (i % YIELD_EVERY === 0) await session.waiter.yieldToEvents();
  }
  if (session.samePackage)
    verify('the last message', () => buffers.memory.verify(buffers.receiving(size)));
  for (const batch of order) batch.close(); // after an error they close with the endpoint
  side.say('Ping-pong succeeds.');
}
