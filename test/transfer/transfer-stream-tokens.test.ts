// Tokens of streams: each is for one stream, an argument that is wrong uses none up, and both sides learn why a stream has failed.
import '../support/softefa.js';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { pattern } from '../support/bytes.js';
import { casesOf, slow } from '../support/cases.js';
import { CHUNK, streamPair } from '../support/stream-pairs.js';

const REFUSED = { code: 'FI_EKEYREJECTED', ambiguous: false };
const ROUNDS = slow ? 500 : 20;

const errorOf = (promise: PromiseLike<unknown>): Promise<Error & { code?: string }> =>
  Promise.resolve(promise).then(
    () => expect.fail('did not fail'),
    (error) => error,
  );

const closed = async (stream: Writable) => {
  if (!stream.closed) await once(stream, 'close');
};

const providers = casesOf(['shm', 'tcp', 'efa'], (provider) => provider !== 'shm');

describe.each(providers)('%s', (provider) => {
  test('a token that was used is refused at once, before and after the end of its stream', async () => {
    const { b, toA, toB } = await streamPair({ provider });
    const parts = [Buffer.from('x')];
    const unread = b.incoming({ from: toA });
    const uploading = toB.upload(parts, unread.token);
    await expect(toB.upload(parts, unread.token)).rejects.toMatchObject(REFUSED);
    unread.resume();
    await uploading;
    await expect(toB.upload(parts, unread.token)).rejects.toMatchObject(REFUSED);
    const outgoing = b.outgoing({ to: toA });
    const download = buffer(toB.download(outgoing.token));
    await outgoing.sendFrom(parts);
    await download;
    expect(() => toB.download(outgoing.token)).toThrow(expect.objectContaining(REFUSED));
  });

  test('an array with a part that is not bytes is refused before the token is used', async () => {
    const { b, toA, toB } = await streamPair({ provider });
    const incoming = b.incoming({ from: toA });
    for (const parts of [['text'], [Buffer.from('x'), 1]]) {
      const error = await errorOf(toB.upload(parts as never, incoming.token));
      expect(error).toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
    }
    const received = buffer(incoming);
    await toB.upload([Buffer.from('x')], incoming.token);
    expect(String(await received)).toBe('x');
  });

  test('a token of memory that a stream has used is refused at once, before and after the end of the stream', async () => {
    const { b, toA, toB } = await streamPair({ provider });
    const memory = await b.allocate(CHUNK);
    const refused = expect.objectContaining(REFUSED);
    for (const end of ['end', 'destroy'] as const) {
      const offer = await memory.offer({ access: 'write', to: toA });
      const writable = toB.writable(offer.token);
      expect(() => toB.writable(offer.token)).toThrow(refused);
      writable.write(Buffer.from('x'));
      writable[end]();
      await offer.released;
      await closed(writable);
      expect(() => toB.writable(offer.token)).toThrow(refused);
      let isAsked = false;
      const source = (async function* () {
        isAsked = true;
        yield Buffer.from('y');
      })();
      await expect(toB.upload(source, offer.token)).rejects.toMatchObject(REFUSED);
      expect(isAsked).toBe(false);
    }
    const offer = await memory.offer({ access: 'read', to: toA });
    expect((await buffer(toB.download(offer.token))).length).toBe(CHUNK);
    expect(() => toB.download(offer.token)).toThrow(refused);
  });

  test.each(['closed', 'closed and opened again'])(
    'a token of a peer that was %s is refused at once',
    async (how) => {
      const { a, b, toA, toB } = await streamPair({ provider });
      const incoming = b.incoming({ from: toA });
      const outgoing = b.outgoing({ to: toA });
      const gone = b.incoming({ from: toA });
      gone.on('error', () => {}).destroy();
      await toB.notify(Buffer.from('x')); // each knows the other
      const ends = [incoming, outgoing].map((stream) => errorOf(once(stream, 'close')));
      await toA.close();
      if (how !== 'closed') await b.peer(a.address);
      const began = performance.now();
      const refused = { code: 'FI_ECONNABORTED', message: expect.stringContaining('expired') };
      await expect(toB.upload([Buffer.from('x')], incoming.token)).rejects.toMatchObject(refused);
      await expect(buffer(toB.download(outgoing.token))).rejects.toMatchObject(refused);
      await expect(toB.upload([Buffer.from('x')], gone.token)).rejects.toMatchObject(refused);
      expect(performance.now() - began).toBeLessThan(5000);
      for (const end of ends) expect(await end).toMatchObject({ code: 'ERR_CLOSED' });
      const again = await b.peer(a.address);
      const next = b.incoming({ from: again });
      await Promise.all([toB.upload([Buffer.from('y')], next.token), buffer(next)]);
    },
  );

  test('an upload with an argument that is wrong leaves the token as it is', async () => {
    const { b, toA, toB } = await streamPair({ provider });
    const closed = await open('/dev/null');
    await closed.close();
    const short = await open('package.json');
    onTestFinished(() => short.close());
    const locked = new ReadableStream<Uint8Array>();
    locked.getReader();
    const throwing = {
      [Symbol.asyncIterator]() {
        throw new Error('no iterator');
      },
    };
    const sources = [7, 'text', null, {}, closed, { file: short, end: 2 ** 40 }, locked, throwing];
    const memory = await b.allocate(CHUNK);
    const offer = await memory.offer({ access: 'write', to: toA });
    const incoming = b.incoming({ from: toA });
    const received = buffer(incoming);
    for (const { token } of [incoming, offer]) {
      for (const source of sources) await errorOf(toB.upload(source as never, token));
      await errorOf(toB.upload([], token, { timeout: -1 }));
      await errorOf(toB.upload([], token, { signal: AbortSignal.abort() }));
      await toB.upload([Buffer.from('bytes')], token);
    }
    expect(String(await received)).toBe('bytes');
    expect((await offer.arrived).length).toBe(5);
    const cancel = vi.fn();
    const error = await errorOf(toB.upload(new ReadableStream({ cancel }), incoming.token));
    expect(cancel.mock.calls).toEqual([[error]]);
  });

  test('whenever a side destroys a stream, the peer learns the reason', async () => {
    const { b, toA, toB, poolA, poolB } = await streamPair({ provider });
    const part = pattern(CHUNK);
    const endless = function* () {
      for (;;) yield part;
    };
    for (let round = 0; round < ROUNDS; round++) {
      const isUpload = round % 2 === 0;
      const own = isUpload
        ? b.incoming({ from: toA, pool: poolB })
        : b.outgoing({ to: toA, pool: poolB });
      const theirs = isUpload
        ? toB.writable(own.token, { pool: poolA })
        : toB.download(own.token, { pool: poolA });
      const [writer, reader] = isUpload ? [theirs, own] : [own, theirs];
      const sent = errorOf(
        (writer as typeof theirs & { sendFrom(of: unknown): Promise<unknown> }).sendFrom(endless()),
      );
      const [destroyed, peer] = round % 4 < 2 ? [own, theirs] : [theirs, own];
      const failed = new Promise<Error>((resolve) => peer.on('error', resolve));
      const reason = new Error(`reason ${round}`);
      destroyed.on('error', () => {});
      let chunks = 0;
      (reader as typeof own).on('data', () => {
        if (++chunks > round % 5) destroyed.destroy(reason);
      });
      const error = await failed;
      expect(error).toMatchObject({ code: 'FI_ECONNABORTED' });
      expect(error.message).toContain(reason.message);
      await sent;
    }
    await expect.poll(() => [poolA.stats().leased, poolB.stats().leased]).toEqual([0, 0]);
  });
});
