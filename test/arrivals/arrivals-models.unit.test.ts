// Programs that fast-check generates, on the package's async iterators and on a model of them.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Arrivals, Reader } from '../../dist/base/arrivals.js';
import { EngineEvents } from '../../dist/transfer/engine-events.js';
import { Arrived, Notifications } from '../../dist/transfer/notifications.js';
import { howOften } from '../support/properties.js';

type Outcome = 'pending' | 'done' | 'failed' | number;

/** A call of next(), in the model or in the package. */
interface Call {
  readonly reader: number;
  outcome: Outcome;
}

/** Each item goes to one call, in the order of the calls. */
class Model {
  items: number[] = [];
  calls: Call[] = [];
  left = new Set<number>();
  end: Outcome = 'pending';

  push(item: number) {
    const call = this.calls.shift();
    if (call === undefined) this.items.push(item);
    else call.outcome = item;
  }
  next(call: Call) {
    call.outcome = this.left.has(call.reader) ? 'done' : (this.items.shift() ?? this.end);
    if (call.outcome === 'pending') this.calls.push(call);
  }
  return(reader: number) {
    this.left.add(reader);
    for (const call of this.calls) if (call.reader === reader) call.outcome = 'done';
    this.calls = this.calls.filter((call) => call.outcome === 'pending');
  }
  close(end: Outcome) {
    if (this.end === 'pending') this.end = end;
    for (const call of this.calls.splice(0)) call.outcome = this.end;
  }
}

/** The objects of a program. */
interface Subject {
  readonly readers: readonly AsyncIterableIterator<unknown>[];
  readonly pending?: () => number;
  push(item: number): void;
  close(end: Outcome): void;
}

const READERS = 2;
const step = fc.oneof(
  { arbitrary: fc.constant('push' as const), weight: 4 },
  { arbitrary: fc.nat({ max: READERS - 1 }).map((reader) => ({ next: reader })), weight: 5 },
  { arbitrary: fc.nat({ max: READERS - 1 }).map((reader) => ({ return: reader })), weight: 1 },
  { arbitrary: fc.constantFrom('done' as const, 'failed' as const), weight: 1 },
);

const outcomeOf = (result: IteratorResult<unknown>): Outcome =>
  result.done ? 'done' : ((result.value as { item?: number }).item ?? (result.value as number));

/** Runs a program, and compares the outcome of each call with that of the models: one, or one for each reader. */
async function run(
  steps: readonly (typeof step extends fc.Arbitrary<infer S> ? S : never)[],
  { readers, push, close, pending }: Subject,
  models: readonly Model[],
): Promise<void> {
  const modelOf = (reader: number) => models[reader % models.length] as Model;
  const expected: Call[] = [];
  const actual: Call[] = [];
  let items = 0;
  const next = (reader: number) => {
    const call: Call = { reader, outcome: 'pending' };
    readers[reader]?.next().then(
      (result) => {
        call.outcome = outcomeOf(result);
      },
      () => {
        call.outcome = 'failed';
      },
    );
    actual.push(call);
    expected.push({ reader, outcome: 'pending' });
    modelOf(reader).next(expected.at(-1) as Call);
  };
  const compare = async () => {
    await new Promise(setImmediate);
    expect(actual).toEqual(expected);
    const waiting = models.reduce((sum, { calls }) => sum + calls.length, 0);
    if (pending !== undefined) expect(pending(), 'calls that keep the process alive').toBe(waiting);
  };
  for (const each of [...steps, 'done' as const]) {
    if (each === 'push') {
      items += 1;
      push(items);
      for (const model of models) model.push(items);
    } else if (typeof each === 'string') {
      close(each);
      for (const model of models) model.close(each);
    } else if ('next' in each) {
      next(each.next);
    } else {
      await readers[each.return]?.return?.();
      modelOf(each.return).return(each.return);
    }
    await compare();
  }
  expect(actual.filter(({ outcome }) => outcome === 'pending')).toEqual([]);
  // Untaken items remain for the readers that have not left.
  for (let i = 0; i < items; i++)
    for (let reader = 0; reader < readers.length; reader++) next(reader);
  await compare();
}

const holds = (subject: () => Subject, models: () => Model[]) =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), (steps) => run(steps, subject(), models())),
    howOften(),
  );

// The published declarations leave out the arguments of the constructor.
const ReaderOf = Reader as unknown as new (arrivals: Arrivals<number>) => Reader<number>;

const forEachReader = <T>(make: () => T): T[] => Array.from({ length: READERS }, make);

describe('any sequence of push, next, return and end settles every call and loses nothing', () => {
  test('if readers share a queue, each item goes to one of them, in the order of their calls', () =>
    holds(
      () => {
        let calls = 0;
        const waits = (change: number) => {
          calls += change;
        };
        const arrivals = new Arrivals<number>({ waits });
        return {
          readers: forEachReader(() => new ReaderOf(arrivals)),
          pending: () => calls,
          push: (item) => arrivals.push(item),
          close: (end) => (end === 'done' ? arrivals.end() : arrivals.endWith(new Error('failed'))),
        };
      },
      () => [new Model()],
    ));

  test('messages of peers: notifications()', () =>
    holds(
      () => {
        let calls = 0;
        const notifications = new Notifications((change) => {
          calls += change;
        });
        return {
          readers: forEachReader(() => notifications.read()),
          pending: () => calls,
          push: (item) =>
            notifications.arrived(
              Object.assign(new Arrived(new Uint8Array(), undefined, '', () => {}), { item }),
            ),
          close: () => notifications.close(),
        };
      },
      () => [new AlwaysDone()],
    ));

  test('events(): each reader sees all of them', () =>
    holds(
      () => {
        const events = new EngineEvents();
        return {
          readers: forEachReader(() => events.read()),
          push: (item) => events.emit({ item } as never),
          close: () => events.close(),
        };
      },
      () => forEachReader(() => new EndedAtClose()),
    ));
});

/** Ends without an error. */
class AlwaysDone extends Model {
  override close(): void {
    super.close('done');
  }
}

/** No event comes after close(). */
class EndedAtClose extends AlwaysDone {
  override push(item: number): void {
    if (this.end === 'pending') super.push(item);
  }
}
