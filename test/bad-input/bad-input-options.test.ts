import { describe, expect, test } from 'vitest';
import {
  boom,
  expectRejected,
  expectThrown,
  expectWorking,
  fixturesOfFile,
  loopbackOfFile,
  refusalOf,
} from '../support/bad-input.js';
import { callVerb, type Fixtures, VERBS, verbs } from '../support/verbs.js';

const loopback = loopbackOfFile();
const fixtures = fixturesOfFile(loopback, 64);

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
  ['an array of 2^32 - 1 holes', new Array(2 ** 32 - 1)],
  ['FI_TRIGGER, which needs a special context', ['FI_TRIGGER']],
  ['the bit of FI_TRIGGER', ['bit 20']],
  ['FI_MULTI_RECV, which completes more than once', ['FI_MULTI_RECV']],
  ['the bit of FI_MULTI_RECV', ['bit 16']],
];

describe('flags', () => {
  test.each(flags)('every call refuses %s', async (_label, value) => {
    for (const verb of withOptions) {
      await expectRejected(
        () => callVerb(loopback.ep, verb, argsWith(verb, { flags: value })),
        /flags|^op/,
      );
    }
    await expectWorking(loopback.ep, loopback.self);
  });

  test.each(['FI_PEEK', 'FI_CLAIM', 'FI_DISCARD'])('only trecv accepts %s', async (flag) => {
    for (const verb of withOptions.filter((name) => name !== 'trecv')) {
      await expectRejected(
        () => callVerb(loopback.ep, verb, argsWith(verb, { flags: [flag] })),
        /which only trecv takes/,
      );
    }
  });

  test('FI_CLAIM needs a call that returns a promise, and the claim of a peek', async () => {
    const { ep, self } = loopback;
    const both = { flags: ['FI_PEEK', 'FI_CLAIM'] as const };
    // shm of libfabric 1.17 refuses FI_PEEK as a whole.
    await expectThrown(() => ep.batch().trecv(null, null, 1n, 0n, both), /FI_CLAIM|FI_PEEK/);
    await expectThrown(() => ep.post.trecv(null, null, 1n, 0n, both), /FI_CLAIM|FI_PEEK/);
    for (const claim of [undefined, null, {}, 5, 'x']) {
      const options = { flags: ['FI_CLAIM'], claim } as never;
      await expectRejected(
        () => ep.trecv(new Uint8Array(8), null, 1n, 0n, options),
        /options\.claim/,
      );
    }
    await expectWorking(ep, self);
  });

  test('inject calls refuse flags and signals', async () => {
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
    ['an object that only inherits from a signal', Object.create(AbortSignal.prototype)],
  ];
  test.each(wrong)('every call refuses %s', async (_label, signal) => {
    for (const verb of withOptions) {
      await expectRejected(
        () => callVerb(loopback.ep, verb, argsWith(verb, { signal })),
        /options\.signal|AbortSignal/,
      );
    }
    await expectWorking(loopback.ep, loopback.self);
  });

  test('are refused by batch and post, and nothing is added or posted', async () => {
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

  test('that are aborted reject with their reason, and nothing is posted', async () => {
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
  test.each(withOptions)(
    'that throw in %s reject the call, and the endpoint remains usable',
    async (verb) => {
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
    },
  );

  test('that call the endpoint again do not lose operations', async () => {
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

  test('that detach the buffer refuse the operation, and that send another leave it intact', async () => {
    const { ep, self } = loopback;
    const during = (act: () => void) => ({
      get flags() {
        act();
        return [];
      },
    });
    const detached = new ArrayBuffer(100);
    const detach = during(() => structuredClone(detached, { transfer: [detached] }));
    await expect(ep.tsend(detached, self, 1n, detach)).rejects.toThrow('buffer is detached');
    let inner: Promise<void> | undefined;
    const send = during(() => {
      inner = ep.tsend(new Uint8Array(60).fill(2), self, 2n);
    });
    const into = [new Uint8Array(100), new Uint8Array(60)] as const;
    const got = into.map((bytes, i) => ep.trecv(bytes, null, BigInt(i + 1)));
    await ep.tsend(new Uint8Array(100).fill(1), self, 1n, send);
    await Promise.all([inner, ...got]);
    expect(into).toEqual([new Uint8Array(100).fill(1), new Uint8Array(60).fill(2)]);
    await expectWorking(ep, self);
  });

  test('are read once', async () => {
    const { ep, self } = loopback;
    let reads = 0;
    const options = {
      get flags() {
        return reads++ === 0 ? [] : (['nonsense'] as never);
      },
    };
    const got = ep.recv(new Uint8Array(8));
    await ep.send(Uint8Array.of(1), self, options);
    await got;
    expect(reads).toBe(1);
  });
});
