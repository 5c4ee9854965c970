import type { Reader } from '../base/arrivals.js';
import { asCancellation, countAsHandled } from '../base/cancellation.js';
import { checkObject, namesOf } from '../base/checks.js';
import { Deferred } from '../base/deferred.js';
import { uncloneable } from '../base/describe.js';
import { checkDirectory, checkName, checkTtl, type Directory } from '../base/directory.js';
import { closed, invalidState } from '../base/errors.js';
import { SharedRuns } from '../base/shared-runs.js';
import { TimeLimit } from '../base/time-limit.js';
import { checkWait, type WaitOptions, within } from '../base/wait-options.js';
import { identityText } from './address.js';
import type { EngineParts } from './engine-parts.js';
import { GroupWatch } from './group-watch.js';
import { Members } from './members.js';
import type { MembershipEvent } from './membership-events.js';
import type { RemoteEngine } from './remote-engine.js';

/** Options of `engine.join()`. `timeout` is 30,000 ms if omitted. */
export interface JoinOptions extends WaitOptions {
  /** Milliseconds after which the others lose this engine if its process has died. If omitted, 10,000. */
  readonly ttl?: number;
}

const NAMES = namesOf<JoinOptions>({ signal: 1, timeout: 1, ttl: 1 });
const TIMEOUT = 30_000; // ms
const LEAVE_TIMEOUT = 15_000; // ms
const CLOSE_TIMEOUT = 1000; // ms
// Milliseconds that a message of an engine that is no peer waits for the directory.
const LOOK_TIMEOUT = 2000;
const UNCLONEABLE = uncloneable(
  'a Membership belongs to its engine: open another engine there, and let it join',
);

/** The membership of an engine in a group of a directory. engine.join() makes it. */
export class Membership {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** The name of the group in the directory. */
  readonly name: string;
  readonly #parts: EngineParts;
  readonly #directory: Directory;
  readonly #members: Members;
  readonly #ending = new AbortController();
  readonly #looks = new SharedRuns(() => this.#look());
  #watch: GroupWatch | undefined;
  #leaving: Promise<void> | undefined;

  /** @internal */
  constructor(parts: EngineParts, directory: Directory, name: string) {
    if (parts === undefined) throw invalidState('new Membership(): use engine.join()');
    this.name = name;
    this.#parts = parts;
    this.#directory = directory;
    this.#members = new Members(parts, name, this.#id);
  }

  /**
   * The other engines of the group that are reached, by id. They are the same objects that engine.peer() returns. The
   * membership closes them; do not close them before.
   */
  get peers(): ReadonlyMap<string, RemoteEngine> {
    return this.#members.reached;
  }

  /**
   * The changes of `peers`. Each iterator begins with the peers that are there, and gets all events from then on. leave()
   * ends it. Waiting for an event keeps the process alive, as waiting for a message does, unless engine.unref() was called.
   */
  events(): Reader<MembershipEvent> {
    return this.#members.events.read(this.peers.values());
  }

  /** Whether leave() was called. */
  get closed(): boolean {
    return this.#leaving !== undefined;
  }

  /** @internal */
  isIn(directory: Directory, name: string): boolean {
    return this.#directory === directory && this.name === name;
  }

  /** @internal Publishes the engine. Resolves when the first peers are there. */
  async begin(ttl: number): Promise<void> {
    const { address } = this.#parts;
    await this.#directory.publish(this.name, { id: this.#id, address }, { ttl });
    if (this.closed) {
      // leave() came before the entry.
      countAsHandled(this.#directory.withdraw(this.name, this.#id));
      return;
    }
    const first = new Deferred<void>();
    const watch = new GroupWatch(this.#directory, this.name, ttl, (entries) => {
      if (this.closed) return;
      this.#members.update(entries);
      first.resolve();
    });
    this.#watch = watch;
    const { signal } = this.#ending;
    signal.addEventListener('abort', () => first.resolve(), { once: true });
    void watch.run(signal);
    void this.#follow();
    await first.promise;
  }

  /** @internal Asks the directory for members that its watch has not reported yet. Never rejects. */
  async look(): Promise<void> {
    if (this.#watch !== undefined) await this.#looks.run().catch(() => {}); // the watch warns of an outage
  }

  async #look(): Promise<void> {
    const found = (async () => this.#directory.lookup(this.name))();
    const wait = { signal: this.#ending.signal, timeout: LOOK_TIMEOUT, unref: true };
    const entries = await within(found, wait, 'lookup');
    if (!this.closed) this.#watch?.add(entries);
  }

  async #follow(): Promise<void> {
    const events = this.#parts.announcer.events.read();
    this.#ending.signal.addEventListener('abort', () => void events.return(), { once: true });
    for await (const event of events) {
      if (event.type === 'peer') this.#members.changed(event.peer, event.reason);
    }
  }

  /**
   * Withdraws the engine from the directory, ends the iterators, and forgets the peers, as remote.close() does. Peers that
   * the program got by engine.peer(), or that another membership has, stay. If the directory cannot be reached, the entry
   * ends with its lease.
   */
  leave(): Promise<void> {
    return this.end(LEAVE_TIMEOUT);
  }

  /** @internal @param timeout the milliseconds that the directory may take. */
  end(timeout: number): Promise<void> {
    this.#leaving ??= this.#end(timeout);
    return this.#leaving;
  }

  async #end(timeout: number): Promise<void> {
    this.#parts.memberships.delete(this);
    this.#ending.abort(closed('the membership'));
    const withdrawn = (async () => this.#directory.withdraw(this.name, this.#id))();
    const wait = { signal: undefined, timeout };
    await Promise.allSettled([within(withdrawn, wait, 'withdraw'), this.#members.close()]);
  }

  /** Leaves the group: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.leave();
  }

  get #id(): string {
    return identityText(this.#parts.identity);
  }
}

/** Joins a group. */
export async function join(
  parts: EngineParts,
  directory: Directory,
  name: string,
  options: JoinOptions,
): Promise<Membership> {
  const { signal, timeout = TIMEOUT } = checkWait(options, NAMES);
  const ttl = checkTtl(checkObject('options', options).ttl);
  const checked = checkDirectory('directory', directory);
  const group = checkName('name', name);
  if ([...parts.memberships].some((other) => other.isIn(checked, group))) {
    throw invalidState(`the engine has joined ${group} of this directory already`);
  }
  const membership = new Membership(parts, checked, group);
  parts.memberships.add(membership);
  try {
    await within(membership.begin(ttl), { signal, timeout }, 'join');
  } catch (error) {
    countAsHandled(membership.leave());
    throw error;
  }
  if (membership.closed) throw asCancellation(closed('the transfer engine'));
  return membership;
}

/**
 * Asks the directories that an engine has joined for members that are no peers yet. Resolves after 2 seconds at the latest.
 * Undefined if it has joined none.
 */
export function lookForMembers({ memberships }: EngineParts): Promise<unknown> | undefined {
  if (memberships.size === 0) return undefined;
  const looks = Promise.all([...memberships].map((membership) => membership.look()));
  const late = new Deferred<void>();
  const limit = new TimeLimit(LOOK_TIMEOUT, () => late.resolve()).unref();
  return Promise.race([looks, late.promise]).finally(() => limit.clear());
}

/** The engine closes: leaves all groups. A directory that does not answer does not delay this for long. */
export async function endMemberships({ memberships }: EngineParts): Promise<void> {
  await Promise.all([...memberships].map((membership) => membership.end(CLOSE_TIMEOUT)));
}
