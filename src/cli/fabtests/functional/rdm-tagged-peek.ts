import { FabricError } from '../../../base/errors.js';
import type { OpFlag } from '../../../base/flags.js';
import type { Completion } from '../../../engine/completion.js';
import { version } from '../../../info/library.js';
import type { RegionSlice } from '../../../memory/memory-region.js';
import type { Buffers } from '../common/buffers.js';
import { finalize } from '../common/finalize.js';
import type { TestMemory } from '../common/memory.js';
import type { Session } from '../common/session.js';
import { awaiting, NotOffered, TestFailure, verify } from './shared/failure.js';
import type { FunctionalTest } from './shared/functional-test.js';
import type { TestSide } from './shared/test-side.js';

const ABSENT = 0xbad;
const FIRST = 0x900d;
const DONE = 0xabc;
const SIZE = 1024;

/** The messages of the test, which differ since fabtests 1.18. */
interface Script {
  readonly tags: readonly number[];
  /** The messages that are received at the end, by their order of sending. */
  readonly rest: readonly number[];
  readonly endsOutOfBand: boolean;
}

const range = (length: number, from: number) => Array.from({ length }, (_, i) => from + i);

function scriptOf(release: number): Script {
  return release < 118
    ? { tags: range(5, FIRST), rest: [4], endsOutOfBand: false }
    : { tags: range(10, FIRST + 1), rest: [4, 5, 9, 8, 7, 6], endsOutOfBand: true };
}

/** Why a provider cannot run the test: on these a peek hangs or crashes. */
function limit(provider: string): string | undefined {
  const { major, minor } = version();
  if (provider === 'shm' && major === 1 && minor < 19) {
    return `shm of libfabric ${major}.${minor} treats a peek as a receive (1.19 and newer support FI_PEEK)`;
  }
  if (provider === 'udp;ofi_rxd') {
    return 'udp;ofi_rxd crashes if a message is claimed while others wait';
  }
  return undefined;
}

/** fabtests' rdm_tagged_peek: finds, claims, discards and receives unexpected messages. */
export const taggedPeek: FunctionalTest = {
  command: 'rdm-tagged-peek',
  type: 'FI_EP_RDM',
  summary: 'messages can be peeked at',
  description:
    'The server sends tagged messages. The client peeks at them (FI_PEEK), claims some (FI_CLAIM), discards ' +
    'some (FI_DISCARD) and receives the others in order.',
  proves: 'client',
  limit,
  run,
};

async function run(side: TestSide): Promise<string> {
  const script = scriptOf(side.release);
  const settings = { ...side.settings, oobSync: side.settings.oobSync || script.endsOutOfBand };
  const needs = {
    caps: ['FI_TAGGED'],
    tx: { msgOrder: ['FI_ORDER_SAS'] },
    domain: { resourceMgmt: 'FI_RM_ENABLED' },
  } as const;
  const session = await side.open(needs, {}, settings);
  const { tags } = script;
  const buffers = await session.allocate(SIZE, tags.length, ['FI_SEND', 'FI_RECV']);
  if (side.role === 'server') {
    await sendAll(side, session, script, buffers);
  } else {
    await new Search(side, session, script, buffers).all();
  }
  await awaiting('the end of the peer', script.endsOutOfBand ? session.sync() : finalize(session));
  return side.role === 'server'
    ? `${tags.length} tagged messages were sent, for the client to peek at`
    : 'messages were found by FI_PEEK, claimed by FI_CLAIM, discarded by FI_DISCARD, and the others arrived';
}

async function sendAll(
  side: TestSide,
  session: Session,
  { tags }: Script,
  buffers: Buffers,
): Promise<void> {
  const { ep, peer } = session;
  side.say(`Sending ${tags.length === 5 ? 'five' : 'ten'} tagged messages`);
  const sends = tags.map((tag, i) => {
    const bytes = buffers.sending(SIZE, i * SIZE);
    buffers.memory.fill(bytes);
    return ep.tsend(bytes, peer, tag);
  });
  side.say('Waiting for messages to complete');
  await awaiting('the completion of all sends', session.until(Promise.all(sends)));
  if (tags.length !== 5) return;
  await awaiting(
    'a message that all is done',
    session.until(ep.trecv(new Uint8Array(256), null, DONE)),
  );
}

/** The client's side. */
class Search {
  readonly #side: TestSide;
  readonly #session: Session;
  readonly #script: Script;
  readonly #memory: TestMemory;
  readonly #into: RegionSlice;

  constructor(side: TestSide, session: Session, script: Script, buffers: Buffers) {
    this.#side = side;
    this.#session = session;
    this.#script = script;
    this.#memory = buffers.memory;
    this.#into = buffers.receiving(SIZE);
  }

  async all(): Promise<void> {
    const { tags, rest } = this.#script;
    const [first, second, third, fourth] = tags as [number, number, number, number];
    this.#say('Searching for a bad msg');
    await this.#absent(ABSENT, ['FI_PEEK']);
    this.#say('Searching for a bad msg with claim');
    await this.#absent(ABSENT, ['FI_PEEK', 'FI_CLAIM']);

    this.#say('Searching for first msg');
    await this.#find(first, ['FI_PEEK']);
    this.#say('Receiving first msg');
    await this.#receive(first);

    this.#say('Searching for second msg to claim');
    const claimed = await this.#find(second, ['FI_PEEK', 'FI_CLAIM']);
    this.#say('Receiving second msg');
    await this.#receive(second, claimed);

    this.#say('Searching for third msg to peek and discard');
    await this.#find(third, ['FI_PEEK', 'FI_DISCARD']);
    this.#say('Checking to see if third msg was discarded');
    await this.#absent(third, ['FI_PEEK']);

    this.#say('Searching for fourth msg to claim and discard');
    const dropped = await this.#find(fourth, ['FI_PEEK', 'FI_CLAIM']);
    this.#say('Discarding fourth msg');
    await this.#discard(fourth, dropped);

    this.#say(rest.length === 1 ? 'Retrieving fifth message' : 'Retrieving the other messages');
    for (const index of rest) await this.#receive(tags[index] as number);
    if (rest.length > 1) return;
    const { ep, peer } = this.#session;
    const done = ep.tsend(new Uint8Array(1), peer, DONE);
    await awaiting('the completion of the last message', this.#session.until(done));
  }

  #say(line: string): void {
    this.#side.say(line);
  }

  #peek(tag: number, flags: readonly OpFlag[]): Promise<Completion> {
    return this.#session.until(this.#session.ep.trecv(null, null, tag, 0, { flags }));
  }

  /** Peeks at a tag that no message has. */
  async #absent(tag: number, flags: readonly OpFlag[]): Promise<void> {
    const what = `FI_ENOMSG for the tag 0x${tag.toString(16)}, which no message has`;
    const found = await awaiting(what, absence(this.#peek(tag, flags)));
    if (found === undefined) return;
    const lookAt = 'the provider: fi_tagged(3) specifies FI_PEEK and FI_DISCARD';
    throw new TestFailure(what, `a message of ${found.length} bytes`, lookAt);
  }

  /** Peeks until a message with the tag has arrived. */
  async #find(tag: number, flags: readonly OpFlag[]): Promise<Completion> {
    const what = `a message with tag 0x${tag.toString(16)}, by ${flags.join(' and ')}`;
    const { timeout } = this.#side.settings;
    const deadline = performance.now() + timeout * 1000;
    for (;;) {
      const peek = this.#peek(tag, flags);
      if ((await awaiting(what, absence(peek))) !== undefined) return peek;
      if (performance.now() < deadline) continue;
      const lookAt = 'whether the peer has sent it; otherwise check the provider';
      throw new TestFailure(what, `none for ${timeout} s`, lookAt, 42);
    }
  }

  async #receive(tag: number, claim?: Completion): Promise<void> {
    const { ep } = this.#session;
    const what = `the message with tag 0x${tag.toString(16)}`;
    const options = claim && ({ flags: ['FI_CLAIM'], claim } as const);
    const receive = ep.trecv(this.#into, null, tag, 0, options);
    const { length } = await awaiting(what, this.#session.until(receive));
    if (length !== SIZE) {
      throw new TestFailure(`${SIZE} bytes in ${what}`, `${length}`, 'what the peer runs');
    }
    // fabtests before 1.18 do not fill it.
    if (this.#session.samePackage || this.#script.tags.length === 10) {
      verify(what, () => this.#memory.verify(this.#into));
    }
  }

  async #discard(tag: number, claim: Completion): Promise<void> {
    const flags = ['FI_CLAIM', 'FI_DISCARD'] as const;
    const discard = this.#session.ep.trecv(null, null, tag, 0, { flags, claim });
    await awaiting('the claimed message to be discarded', this.#session.until(discard));
  }
}

/** The result of a peek; undefined if it found nothing. */
async function absence(peek: Promise<Completion>): Promise<Completion | undefined> {
  try {
    return await peek;
  } catch (error) {
    if (!FabricError.is(error)) throw error;
    if (error.code === 'FI_ENOMSG') return undefined;
    const refused = ['FI_EOPNOTSUPP', 'FI_ENOSYS', 'FI_EBADFLAGS', 'FI_EINVAL'].includes(
      error.code,
    );
    if (refused) throw new NotOffered(`the provider does not peek: ${error.message}`);
    throw error;
  }
}
