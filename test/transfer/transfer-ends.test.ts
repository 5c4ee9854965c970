import '../support/softefa.js';
import { dumpState } from 'libfabric';
import { TransferEngine, TransferError } from 'libfabric/transfer';
import { describe, expect, test } from 'vitest';
import { pattern, same } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { runCleanly, tally } from '../support/lifecycle.js';
import { PROVIDERS } from '../support/providers.js';
import { isPending } from '../support/settle.js';

const SIZE = 4 << 20;

describe.each(casesOf(PROVIDERS, (provider) => provider !== 'tcp'))('%s', (provider) => {
  const options = { provider, nics: 2 };

  test('a closed offer rejects, and its token opens nothing any more', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(SIZE));
    const into = await b.register(new Uint8Array(SIZE));
    const offer = await into.offer({ access: 'write', to: toA });
    await offer.close();
    await expect(offer.arrived).rejects.toMatchObject({ code: 'FI_ECANCELED', ambiguous: true });
    await toB.close(); // forgets that the offer has ended: its keys alone refuse the token
    const late = (await a.peer(b.address)).write(from, offer.token, { timeout: 500 });
    await expect(late).rejects.toBeInstanceOf(TransferError);
    // shm and efa (1.17) never complete a write with data to a key that is void.
    if (provider === 'tcp') await late.released;
    expect(into.bytes.every((byte) => byte === 0)).toBe(true);
  });

  test('an offer that closes when its bytes have arrived does not fail the transfer', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(SIZE));
    const into = await b.register(new Uint8Array(SIZE));
    for (let round = 0; round < 20; round++) {
      const offer = await into.offer({ access: 'write', to: toA });
      const transfer = toB.write(from, offer.token);
      await offer.arrived;
      await Promise.all([offer.close(), transfer]);
    }
    expect(b.stats().offers).toMatchObject({ open: 0, arrived: 20, failed: 0 });
  });

  test('revoke() ends an offer at once, also while close() waits, and its memory is free when it is released', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(SIZE));
    const into = await b.register(new Uint8Array(SIZE));
    const offerOne = () => into.offer({ access: 'write', to: toA });
    const revoked = { code: 'FI_ECANCELED', message: expect.stringContaining('was revoked') };
    const [first, second, third] = [await offerOne(), await offerOne(), await offerOne()];
    first.revoke();
    first.revoke();
    expect(await isPending(first.arrived.catch(() => {}))).toBe(false);
    await expect(first.arrived).rejects.toMatchObject(revoked);
    expect(
      await first[Symbol.asyncIterator]()
        .next()
        .catch((error) => error),
    ).toMatchObject(revoked);
    const closing = second.close();
    second.revoke();
    expect(await isPending(second.arrived.catch(() => {}))).toBe(false);
    await expect(second.arrived).rejects.toThrow('was closed');
    // In the middle of a transfer.
    const transfer = toB.write(from, third.token, { timeout: 1000 });
    await new Promise(setImmediate);
    third.revoke();
    await Promise.allSettled([transfer]);
    await Promise.all([closing, first.released, second.released, third.released]);
    const late = toB.write(from, first.token, { timeout: 500 });
    await expect(late).rejects.toBeInstanceOf(TransferError);
    const next = await offerOne();
    await Promise.all([toB.write(from, next.token), next.arrived]);
    next.revoke(); // has no effect
    expect(same(into.bytes, from.bytes)).toBe(true);
    await next.released;
    expect(b.stats().offers.open).toBe(0);
  });

  // The transfer resolves at its side, and close() runs before this side has the report of the last byte.
  test.each(['write', 'read'] as const)(
    'an offer that closes right after the end of the peer’s %s has its arrival',
    async (access) => {
      const { a, b, toA, toB } = await enginePair(options);
      const [ours, theirs] = [await a.register(pattern(5000)), await b.register(pattern(5000))];
      for (let length = 1; length <= 5000; length += 250) {
        const offer = await theirs.offer({ access, to: toA });
        const part = ours.slice(0, length);
        await (access === 'write' ? toB.write(part, offer.token) : toB.read(offer.token, part));
        const closing = offer.close();
        expect((await offer.arrived).length).toBe(length);
        await closing;
      }
      expect(b.stats().offers).toMatchObject({ open: 0, arrived: 20, failed: 0 });
    },
  );

  test('memory that closes ends its offers and their registrations', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(SIZE));
    const regions = () => dumpState().domains.map(({ engine }) => engine?.memory.regions);
    const before = regions();
    const into = await b.register(new Uint8Array(SIZE));
    const offer = await into.offer({ access: 'write', to: toA });
    const opening = into.slice(0, 4096).offer({ access: 'read', to: toA });
    await into.close();
    await expect(offer.arrived).rejects.toMatchObject({
      code: 'FI_ECANCELED',
      message: expect.stringContaining('its memory was closed'),
    });
    await expect((await opening).arrived).rejects.toMatchObject({ code: 'FI_ECANCELED' });
    await Promise.all([offer.released, (await opening).released]);
    expect(regions()).toEqual(before);
    const late = toB.grant(offer.token);
    await expect(toB.write(from, late, { timeout: 500 })).rejects.toBeInstanceOf(TransferError);
  });

  test('an offer expires', async () => {
    const { b, toA } = await enginePair(options);
    const into = await b.register(new Uint8Array(SIZE));
    const offer = await into.offer({ access: 'write', to: toA, expires: 20 });
    await expect(offer.arrived).rejects.toMatchObject({ code: 'FI_ETIMEDOUT' });
    await offer.released;
  });

  test('an expired token is refused before anything is sent', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(100));
    const into = await b.register(new Uint8Array(100));
    const offer = await into.offer({ access: 'write', to: toA, expires: 1 });
    await offer.released;
    expect(() => toB.write(from, offer.token)).toThrow(/the token has expired/);
  });

  test('an aborted transfer rejects with the reason, frees its memory and tells the peer', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(SIZE));
    const into = await b.register(new Uint8Array(SIZE));
    const offer = await into.offer({ access: 'write', to: toA });
    const aborting = new AbortController();
    const transfer = toB.write(from, offer.token, { signal: aborting.signal });
    const reason = new Error('enough');
    await null; // it has begun
    aborting.abort(reason);
    await expect(transfer).rejects.toBe(reason);
    await transfer.released;
    await offer.released;
    // All slices may have been in flight before the abort.
    const [arrived] = await Promise.allSettled([offer.arrived]);
    if (arrived.status === 'rejected') expect(arrived.reason.code).toBe('FI_ECONNABORTED');
    else expect(same(arrived.value.bytes, from.bytes)).toBe(true);
    await from.close();
  });

  test('an aborted transfer that waits for its turn is never sent', async () => {
    const { a, b, toA, toB } = await enginePair({ ...options, maxTransfers: 1 });
    const from = await a.register(pattern(SIZE));
    const into = await b.register(new Uint8Array(2 * SIZE));
    const [first, second] = await Promise.all(
      [0, SIZE].map((at) => into.slice(at, at + SIZE).offer({ access: 'write', to: toA })),
    );
    if (first === undefined || second === undefined) throw new Error('no offers');
    const running = toB.write(from, first.token);
    const aborting = new AbortController();
    const waiting = toB.write(from, second.token, { signal: aborting.signal });
    aborting.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    await running;
    await first.arrived;
    expect(into.bytes.subarray(SIZE).every((byte) => byte === 0)).toBe(true);
    await second.close();
  });

  test.each(
    casesOf(['engine', 'offer', 'memory'] as const, (which) => {
      return provider === 'tcp' || which === 'engine';
    }),
  )('all of 5000 transfers that wait end when their %s closes', async (which) => {
    const { a, b, toA, toB } = await enginePair({ ...options, maxTransfers: 2 });
    const from = await a.allocate(SIZE);
    const into = await b.allocate(SIZE);
    const offer = await into.offer({ access: 'write', to: toA, repeat: true });
    const grant = toB.grant(offer.token);
    const ends = tally(Array.from({ length: 5000 }, () => toB.write(from, grant).finally()));
    await { engine: a, offer, memory: from }[which].close();
    const { ok = 0, FI_ECANCELED = 0, ...others } = await ends;
    const codes = { engine: [], offer: ['FI_EKEYREJECTED'], memory: ['ERR_CLOSED'] }[which];
    expect(Object.keys(others)).toEqual(codes);
    const refused = Object.values(others).reduce((sum, count) => sum + count, 0);
    expect(ok + FI_ECANCELED + refused).toBe(5000);
    expect(a.stats().transfers).toMatchObject({ waiting: 0, done: ok });
  });

  test('close() ends transfers and offers of both sides', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(SIZE));
    const into = await b.register(new Uint8Array(SIZE));
    const used = await into.offer({ access: 'write', to: toA });
    const unused = await into.offer({ access: 'read', to: toA });
    const transfer = toB.write(from, used.token);
    const results = Promise.allSettled([transfer, used.arrived, unused.arrived]);
    await Promise.all([a.close(), b.close()]);
    const [written, arrived, never] = await results;
    expect(never.status).toBe('rejected');
    if (arrived.status === 'rejected') expect(arrived.reason.code).toBe('FI_ECANCELED');
    if (written.status === 'rejected') expect(written.reason).toBeInstanceOf(TransferError);
    await Promise.all([transfer.released, used.released, unused.released]);
    expect(() => toB.write(from, used.token)).toThrow(/closed/);
    await expect(a.register(new Uint8Array(1))).rejects.toThrow(/closed/);
  });

  test("close() in the middle of a peer's write or read ends it at once", async () => {
    for (const access of ['write', 'read', 'write', 'read'] as const) {
      const { a, b, toA, toB } = await enginePair(options);
      const local = await a.allocate(64 << 20);
      const remote = await b.allocate(64 << 20);
      const { token } = await remote.offer({ access, to: toA });
      const transfer = access === 'write' ? toB.write(local, token) : toB.read(token, local);
      const code = transfer.then(
        () => 'FI_SUCCESS',
        (error: unknown) => (error as TransferError).code,
      );
      for await (const { done } of transfer.progress()) if (done > 0) break;
      await b.close();
      expect(['FI_SUCCESS', 'FI_ECONNRESET']).toContain(await code);
      await a.close();
    }
  });

  test('a repeated offer takes the same transfer again and again', async () => {
    // A slice that is sent twice ends the repetition: this must not happen on a busy machine.
    const { a, b, toA, toB } = await enginePair({ ...options, stall: 60_000 });
    const from = await a.register(pattern(SIZE));
    const into = await b.register(new Uint8Array(SIZE));
    const offer = await into.offer({ access: 'write', to: toA, repeat: true });
    let transfer = toB.write(from, offer.token);
    let rounds = 0;
    for await (const { bytes } of offer) {
      expect(same(bytes, from.bytes)).toBe(true);
      await transfer;
      if (++rounds === 20) break;
      from.bytes.fill(rounds);
      transfer = transfer.repeat();
    }
    await transfer.released;
    await offer.close();
  });

  test('a peer that is closed is forgotten, and may be met again', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(100));
    const into = await b.register(new Uint8Array(100));
    const first = await into.offer({ access: 'write', to: toA });
    await toB.write(from, first.token);
    await first.released;
    await toB.close();
    expect(toB.closed).toBe(true);
    const second = await into.offer({ access: 'write', to: toA });
    expect(() => toB.write(from, second.token)).toThrow(/peer is closed/);
    const again = await a.peer(b.address);
    expect(again).not.toBe(toB);
    await again.write(from, second.token);
    expect(same((await second.arrived).bytes, from.bytes)).toBe(true);
  });

  test('a transfer of a single offer cannot start again', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(100));
    const into = await b.register(new Uint8Array(100));
    const offer = await into.offer({ access: 'write', to: toA });
    const transfer = toB.write(from, offer.token);
    await transfer;
    await expect(transfer.repeat()).rejects.toMatchObject({ code: 'FI_EALREADY' });
  });

  test('progress() rises to the total, and throws what the transfer rejects with', async () => {
    const { a, b, toA, toB } = await enginePair(options);
    const from = await a.register(pattern(SIZE));
    const into = await b.register(new Uint8Array(SIZE));
    const offer = await into.offer({ access: 'write', to: toA });
    const seen: number[] = [];
    for await (const { done, total } of toB.write(from, offer.token).progress()) {
      expect(total).toBe(SIZE);
      seen.push(done);
    }
    expect(seen.at(-1)).toBe(SIZE);
    expect(seen).toEqual([...seen].sort((x, y) => x - y));
    const closed = await into.offer({ access: 'write', to: toA });
    await closed.close();
    const reading = async () => {
      for await (const _ of toB.write(from, closed.token, { timeout: 200 }).progress());
    };
    await expect(reading()).rejects.toBeInstanceOf(TransferError);
  });
});

test('tokens and addresses that are wrong, stale, foreign or forged are refused', async () => {
  const options = { provider: 'shm', secret: 'one' };
  const { a, b, toA, toB } = await enginePair(options);
  const { b: other, toA: otherToA } = await enginePair(options);
  const stranger = await TransferEngine.open({ provider: 'shm', secret: 'two' });
  const over = await TransferEngine.open({ provider: 'tcp', secret: 'one' });
  try {
    const from = await a.register(pattern(100));
    const into = await b.register(new Uint8Array(100));
    const { token } = await into.offer({ access: 'write', to: toA });
    const refuse = (wrong: unknown, message: RegExp) =>
      expect(() => toB.write(from, wrong as string)).toThrow(message);
    refuse(undefined, /token.*string/);
    refuse('', /is not the token/);
    refuse('hello!', /is not the token/);
    refuse(b.address, /is not the token/);
    refuse(token.slice(0, -4), /was damaged/);
    refuse(`A${token.slice(1)}`, /is not the token|was damaged/);
    for (let at = 8; at < token.length; at += 7) {
      const flipped = token[at] === 'A' ? 'B' : 'A';
      refuse(token.slice(0, at) + flipped + token.slice(at + 1), /damaged|version|malformed/);
    }
    const elsewhere = await (await other.register(new Uint8Array(100))).offer({
      access: 'write',
      to: otherToA,
    });
    refuse(elsewhere.token, /is from another engine than this peer/);
    const reading = await into.offer({ access: 'read', to: toA });
    refuse(reading.token, /is for a read, not a write/);
    expect(() => toB.read(token, from)).toThrow(/is for a write, not a read/);
    await expect(a.peer(stranger.address)).rejects.toThrow(/sealed with another/);
    await expect(a.peer(over.address)).rejects.toThrow(/over tcp/);
    await expect(a.peer(`${b.address}AAAA`)).rejects.toThrow(/damaged/);
    expect(() => toB.write({} as never, token)).toThrow(/TransferMemory/);
    const big = await a.register(new Uint8Array(101));
    expect(() => toB.write(big, token)).toThrow(/at most 100 bytes/);
  } finally {
    await Promise.all([stranger.close(), over.close()]);
  }
});

test('a transfer that was repeated is garbage, although the next one is in use', () =>
  runCleanly('transfer-repeated', [], { stdout: '0 4096' }, { node: ['--expose-gc'] }));
