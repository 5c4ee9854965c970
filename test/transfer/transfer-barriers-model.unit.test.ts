// Barriers of three engines whose calls fail and begin again at any moment, and whose messages arrive late and in any order.
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Barrier, Barriers } from '../../dist/transfer/barriers.js';
import { howOften } from '../support/properties.js';

const GROUP = Buffer.alloc(16, 7);
const MEMBERS = [0, 1, 2];

/** Messages and confirmations on their way. */
class Network {
  readonly #onTheWay: (() => void)[] = [];

  send(deliver: () => void): Promise<void> {
    return new Promise((resolve) => {
      this.#onTheWay.push(() => {
        deliver();
        this.#onTheWay.push(resolve);
      });
    });
  }

  /** Lets one of them arrive. Returns whether there was one. */
  arrive(which: number): boolean {
    const [arrival] = this.#onTheWay.splice(which % (this.#onTheWay.length || 1), 1);
    arrival?.();
    return arrival !== undefined;
  }
}

class Member {
  readonly barriers = new Barriers(() => {});
  readonly calls: Barrier[] = [];
  /** The barriers that its program knows to have passed. */
  passed = 0;
  /** The last barrier that a call of it was for. */
  begun = 0;

  begin(self: number, members: readonly Member[], network: Network): void {
    const others = MEMBERS.filter((member) => member !== self);
    const call = this.barriers.next(GROUP, others.map(BigInt), (message) =>
      Promise.all(
        others.map((to) =>
          network.send(() => members[to]?.barriers.arrived(BigInt(self), message)),
        ),
      ),
    );
    this.calls.push(call);
    this.begun = Math.max(this.begun, this.passed + this.calls.length);
    call.passed.then(() => {
      if (!this.calls.includes(call)) return; // its program has given up
      this.calls.splice(this.calls.indexOf(call), 1);
      this.passed += 1;
      call.end(true);
      for (const { begun } of members) expect(begun).toBeGreaterThanOrEqual(this.passed);
    });
  }

  giveUp(which: number): void {
    const [call] = this.calls.splice(which % (this.calls.length || 1), 1);
    call?.end(false);
  }
}

const step = fc.record({
  act: fc.constantFrom('call', 'give up', 'give up and call', 'arrive', 'arrive', 'arrive', 'turn'),
  member: fc.constantFrom(...MEMBERS),
  which: fc.nat(20),
});

test('members meet, however often and whenever their calls have failed', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
    const network = new Network();
    const members = MEMBERS.map(() => new Member());
    for (const { act, member, which } of steps) {
      const acting = members[member] as Member;
      if (act === 'turn') await turn();
      else if (act === 'arrive') network.arrive(which);
      else {
        if (act !== 'call') acting.giveUp(which);
        if (act !== 'give up' && acting.calls.length < 3) acting.begin(member, members, network);
      }
    }
    // From here on nobody gives up, and everybody calls until all have passed the same number.
    const goal = 1 + Math.max(...members.map(({ begun }) => begun));
    for (let idle = 0; idle < 3; idle++) {
      for (const [self, member] of members.entries()) {
        if (member.passed < goal && member.calls.length === 0) {
          member.begin(self, members, network);
          idle = 0;
        }
      }
      while (network.arrive(0)) idle = 0;
      await turn();
    }
    expect(members.map(({ passed }) => passed)).toEqual(members.map(() => goal));
  });
  const details = await fc.check(property, howOften(500));
  if (details.failed) throw new Error(fc.defaultReportMessage(details));
}, 30_000);
