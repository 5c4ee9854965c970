import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  boom,
  expectRejected,
  expectThrown,
  expectWorking,
  openLoopback,
  refusalOf,
} from '../support/bad-input.js';
import { callVerb, type Fixtures, VERBS, verbs } from '../support/verbs.js';

let loopback: Awaited<ReturnType<typeof openLoopback>>;
let fixtures: Fixtures;

beforeAll(async () => {
  loopback = await openLoopback();
  const { ep, self } = loopback;
  const region = await ep.domain.allocate(64, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
  fixtures = { self, region, remote: ep.domain.remote(region.descriptor()) };
});

afterAll(async () => {
  await loopback.ep.close();
});

const withOptions = VERBS.filter((verb) => 'options' in verbs({} as Fixtures)[verb]!());

function argsWith(verb: string, more: object) {
  const args = verbs(fixtures)[verb]!();
  // Spread would run getters here instead of in the call.
  return { ...args, options: Object.setPrototypeOf(more, args.options as object) as object };
}

const flags: [label: string, value: unknown][] = [
  ['null', null],
  ['a string', 'FI_MORE'],
  ['a number', 4],
  ['a set', new Set(['FI_MORE'])],
  ['an unknown name', ['FI_MOER']],
  ['an undefined name', [undefined]],
  ['a capability', ['FI_RMA']],
  ['a bit past 63', ['bit 64']],
  ['2^32 - 1 holes', new Array(2 ** 32 - 1)],
  ['FI_TRIGGER, whose context nobody has', ['FI_TRIGGER']],
  ['the same by its bit', ['bit 20']],
  ['FI_MULTI_RECV, which completes more than once', ['FI_MULTI_RECV']],
  ['the same by its bit', ['bit 16']],
];

describe('flags', () => {
  test.each(flags)('%s are refused by every call', async (_label, value) => {
    for (const verb of withOptions) {
      await expectRejected(
        () => callVerb(loopback.ep, verb, argsWith(verb, { flags: value })),
        /flags|^op/,
      );
    }
    await expectWorking(loopback.ep, loopback.self);
  });

  test.each(['FI_PEEK', 'FI_CLAIM', 'FI_DISCARD'])('%s is for trecv alone', async (flag) => {
    for (const verb of withOptions.filter((name) => name !== 'trecv')) {
      await expectRejected(
        () => callVerb(loopback.ep, verb, argsWith(verb, { flags: [flag] })),
        /which only trecv takes/,
      );
    }
  });

  test('a claim needs a promise, and what was peeked', async () => {
    const { ep, self } = loopback;
    const both = { flags: ['FI_PEEK', 'FI_CLAIM'] as const };
    await expectThrown(() => ep.batch().trecv(null, null, 1n, 0n, both), /FI_CLAIM/);
    await expectThrown(() => ep.post.trecv(null, null, 1n, 0n, both), /FI_CLAIM/);
    for (const claim of [undefined, null, {}, 5, 'x']) {
      const options = { flags: ['FI_CLAIM'], claim } as never;
      await expectRejected(
        () => ep.trecv(new Uint8Array(8), null, 1n, 0n, options),
        /options\.claim/,
      );
    }
    await expectWorking(ep, self);
  });

  test('inject calls take neither flags nor a signal', async () => {
    for (const verb of ['injectWrite', 'injectWritedata']) {
      const more = { flags: ['FI_FENCE'] };
      await expectRejected(
        () => callVerb(loopback.ep, verb, argsWith(verb, more)),
        /options\.flags/,
      );
      const { signal } = new AbortController();
      await expectRejected(() => callVerb(loopback.ep, verb, argsWith(verb, { signal })), /signal/);
    }
  });
});

describe('signals', () => {
  const wrong: [label: string, signal: unknown][] = [
    ['null', null],
    ['{}', {}],
    ['a string', 'abort'],
    ['a number', 5],
    ['a controller', new AbortController()],
    ['what only inherits from a signal', Object.create(AbortSignal.prototype)],
  ];
  test.each(wrong)('%s is refused by every call', async (_label, signal) => {
    for (const verb of withOptions) {
      await expectRejected(
        () => callVerb(loopback.ep, verb, argsWith(verb, { signal })),
        /options\.signal|AbortSignal/,
      );
    }
    await expectWorking(loopback.ep, loopback.self);
  });

  test('are refused in a batch and in post before anything is written', async () => {
    const { ep, self } = loopback;
    const batch = ep.batch();
    const { signal } = new AbortController();
    const before = ep.domain.stats().operations;
    for (const verb of withOptions) {
      await expectThrown(
        () => callVerb(batch, verb, argsWith(verb, { signal })),
        /options\.signal/,
      );
      await expectThrown(
        () => callVerb(ep.post, verb, argsWith(verb, { signal })),
        /options\.signal/,
      );
    }
    expect(batch.size).toBe(0);
    expect(ep.domain.stats().operations).toBe(before);
    await expectWorking(ep, self);
  });

  test('an aborted one rejects with its reason, unposted', async () => {
    const reason = new Error('no');
    for (const verb of withOptions.filter((name) => !name.startsWith('inject'))) {
      const options = { signal: AbortSignal.abort(reason) };
      const { error } = await refusalOf(() => callVerb(loopback.ep, verb, argsWith(verb, options)));
      expect(error).toBe(reason);
    }
    await expectWorking(loopback.ep, loopback.self);
  });
});

describe('getters of options', () => {
  test.each(withOptions)('that throw in %s leave nothing behind', async (verb) => {
    const { ep, self } = loopback;
    const remote = 'remote' in verbs(fixtures)[verb]!();
    for (const name of ['flags', 'signal', 'context', ...(remote ? ['offset'] : [])]) {
      const options = {
        get [name](): never {
          throw boom;
        },
      };
      const error = await expectRejected(() => callVerb(ep, verb, argsWith(verb, options)));
      expect(error).toBe(boom);
    }
    await expectWorking(ep, self);
  });

  test('that call the endpoint again lose no operation', async () => {
    const { ep, self } = loopback;
    const inner: Promise<unknown>[] = [];
    const options = {
      get flags() {
        inner.push(ep.tsend(Uint8Array.of(2), self, 2n));
        return [];
      },
    };
    const got = [1n, 2n].map((tag) => ep.trecv(new Uint8Array(8), null, tag));
    await ep.tsend(Uint8Array.of(1), self, 1n, options);
    expect(inner).toHaveLength(1);
    await Promise.all([...inner, ...got]);
    await expectWorking(ep, self);
  });

  test('that change their minds are asked once', async () => {
    const { ep, self } = loopback;
    let asked = 0;
    const options = {
      get flags() {
        return asked++ === 0 ? [] : (['nonsense'] as never);
      },
    };
    const got = ep.recv(new Uint8Array(8));
    await ep.send(Uint8Array.of(1), self, options);
    await got;
    expect(asked).toBe(1);
  });
});
