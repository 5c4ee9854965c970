// Streams of the memory of peers that fail, are left, aborted or refused, and those of peers that close or die.
import '../support/softefa.js';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { inspect } from 'node:util';
import { TransferEngine, type TransferReadable } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { block } from '../support/event-loop.js';
import { Receiver } from '../support/receiver.js';
import { CHUNK, streamPair } from '../support/stream-pairs.js';

const errorOf = (promise: PromiseLike<unknown>): Promise<Error & { code?: string }> =>
  Promise.resolve(promise).then(
    () => expect.fail('did not fail'),
    (error) => error,
  );

const providers = casesOf(['shm', 'tcp', 'efa'], (provider) => provider !== 'tcp');

describe.each(providers)('%s', (provider) => {
  const options = { provider };

  test('a source that fails ends the stream of the peer with its reason, and frees the memory', async () => {
    const { b, toA, toB, poolA, poolB } = await streamPair(options);
    async function* failing() {
      yield pattern(3 * CHUNK);
      throw new Error('the disk is on fire');
    }
    const incoming = b.incoming({ from: toA, pool: poolB });
    const [received, sent] = await Promise.all([
      errorOf(buffer(incoming)),
      errorOf(toB.upload(failing(), incoming.token, { pool: poolA })),
    ]);
    expect(sent.message).toBe('the disk is on fire');
    expect(received).toMatchObject({ code: 'FI_ECONNABORTED' });
    expect(received.message).toContain('the disk is on fire');

    const memory = await b.allocate(4 * CHUNK);
    const offer = await memory.offer({ access: 'write', to: toA });
    const failed = await errorOf(toB.upload(failing(), offer.token, { pool: poolA }));
    expect(failed.message).toBe('the disk is on fire');
    expect(await errorOf(offer.arrived)).toMatchObject({ code: 'FI_ECONNABORTED' });
    await offer.released;
    await Promise.all([poolA.close(), poolB.close()]);
  });

  test.each([true, false])(
    'remote.close() ends the open streams of both sides at once, of their owner: %s',
    async (isOwner) => {
      const { b, toA, toB, poolA, poolB } = await streamPair(options);
      const endless = async function* () {
        for (;;) yield pattern(CHUNK);
      };
      const incoming = b.incoming({ from: toA, pool: poolB });
      const outgoing = b.outgoing({ to: toA, pool: poolB });
      const unused = b.incoming({ from: toA, pool: poolB }).on('error', () => {});
      const download = toB.download(outgoing.token, { pool: poolA });
      const uploading = errorOf(toB.upload(endless(), incoming.token, { pool: poolA }));
      const sending = errorOf(outgoing.sendFrom(endless()));
      await Promise.all([once(incoming, 'readable'), once(download, 'readable')]);
      const received = [incoming, download].map((stream) => errorOf(buffer(stream)));
      const ends = Promise.all([uploading, sending, ...received]);
      const began = performance.now();
      await (isOwner ? toA : toB).close();
      const [uploaded, sent, arrived, downloaded] = (await ends).map(({ code }) => code);
      expect(performance.now() - began).toBeLessThan(5000);
      const [own, others] = ['ERR_CLOSED', 'FI_ECONNABORTED'];
      expect([sent, arrived]).toEqual(isOwner ? [own, own] : [others, others]);
      expect([uploaded, downloaded]).toEqual(isOwner ? [others, others] : [own, own]);
      expect(unused.destroyed).toBe(false); // it expires
      unused.destroy();
    },
  );

  test('a reader that stops ends the stream of the peer, and frees the memory', async () => {
    const { b, toA, toB, poolA, poolB } = await streamPair(options);
    const endless = function* () {
      for (;;) yield pattern(CHUNK);
    };
    const incoming = b.incoming({ from: toA, pool: poolB });
    const uploading = errorOf(toB.upload(endless(), incoming.token, { pool: poolA }));
    for await (const part of incoming) {
      expect(part.length).toBeGreaterThan(0);
      break;
    }
    expect(await uploading).toMatchObject({ code: 'FI_ECONNABORTED' });

    const outgoing = b.outgoing({ to: toA, pool: poolB });
    const sending = errorOf(outgoing.sendFrom(endless()));
    for await (const _ of toB.download(outgoing.token, { pool: poolA })) break;
    expect(await sending).toMatchObject({ code: 'FI_ECONNABORTED' });

    const memory = await b.allocate(20 * CHUNK);
    const offer = await memory.offer({ access: 'read', to: toA });
    for await (const _ of toB.download(offer.token, { pool: poolA })) break;
    expect(await errorOf(offer.arrived)).toMatchObject({ code: 'FI_ECONNABORTED' });
    await Promise.all([poolA.close(), poolB.close()]);
  });

  test('a signal ends a stream with its reason', async () => {
    const { b, toA, toB, poolA } = await streamPair(options);
    const silent = new Readable({ read() {} });
    const memory = await b.allocate(CHUNK);
    const offer = await memory.offer({ access: 'write', to: toA });
    const incoming = b.incoming({ from: toA });
    for (const token of [offer.token, incoming.token]) {
      const controller = new AbortController();
      const { signal } = controller;
      const uploading = errorOf(toB.upload(silent, token, { pool: poolA, signal }));
      const reason = new Error('enough');
      controller.abort(reason);
      expect(await uploading).toBe(reason);
    }
    expect(silent.destroyed).toBe(true);
    expect(await errorOf(buffer(incoming))).toMatchObject({ code: 'FI_ECONNABORTED' });
    const reasons: unknown[] = [];
    const cancel = (reason: unknown) => void reasons.push(reason);
    const enough = new Error('enough');
    for (const source of [
      new ReadableStream({ cancel }),
      new ReadableStream({ pull: () => new Promise<void>(() => {}), cancel }),
      new ReadableStream({ type: 'bytes', cancel }),
    ]) {
      const controller = new AbortController();
      const { signal } = controller;
      const { token } = b.incoming({ from: toA }).on('error', () => {});
      const uploading = errorOf(toB.upload(source, token, { pool: poolA, signal }));
      await turn(); // a read is pending
      controller.abort(enough);
      expect(await uploading).toBe(enough);
    }
    expect(reasons).toEqual([enough, enough, enough]);
    const aborted = AbortSignal.abort();
    expect(() => toB.download('x', { signal: aborted })).toThrow(aborted.reason);
  });

  test('a peer whose engine closes ends its streams with FI_ECONNRESET', async () => {
    const { a, b, toA, toB } = await streamPair(options);
    const memory = await a.allocate(20 * CHUNK);
    const offer = await memory.offer({ access: 'read', to: await a.peer(b.address) });
    const incoming = b.incoming({ from: toA });
    const outgoing = b.outgoing({ to: toA });
    const download = toA.download(offer.token, { pool: b.pool({ size: CHUNK, count: 1 }) });
    const writable = toB.writable(incoming.token);
    writable.on('error', () => {});
    writable.write('a');
    await once(incoming, 'data');
    await once(download, 'data');
    download.pause();
    download.on('error', () => {});
    outgoing.write('b');
    const ends = [incoming, outgoing].map((stream) => once(stream, 'error'));
    await a.close();
    for (const [error] of await Promise.all(ends))
      expect(error.code).toMatch(/^FI_ECONN(RESET|ABORTED)$/);
    expect(writable.errored).toMatchObject({ code: 'FI_ECANCELED' });
    const rest = errorOf(buffer(download));
    expect(await rest).toMatchObject({ code: expect.stringMatching(/^FI_/) });
  });

  test('streams whose bytes have arrived end well if the engine of the peer closes at once', async () => {
    const { a, b, toA, toB } = await streamPair(options);
    const bytes = pattern(3 * 1024 * 1024 + 1);
    const incoming = b.incoming({ from: toA }).once('readable', () => {}); // read when the peer has left
    const outgoing = b.outgoing({ to: toA });
    const finished = once(outgoing.end(bytes), 'finish');
    await toB.upload([bytes], incoming.token);
    expect((await buffer(toB.download(outgoing.token))).equals(bytes)).toBe(true);
    const short = b.incoming({ from: toA }); // offers a second chunk, which is not used
    const read = buffer(short);
    await toB.upload([Buffer.from('short')], short.token);
    const closing = a.close();
    // The last messages of the streams and that of the closed engine come together.
    block(100);
    await Promise.all([finished, closing]);
    expect(String(await read)).toBe('short');
    await expect.poll(() => toA.state).toBe('lost');
    expect((await buffer(incoming)).equals(bytes)).toBe(true);
  });
});

test('a peer that is killed ends its streams, and the memory is free', async () => {
  const settings = { liveness: 500, node: '127.0.0.1' };
  const a = await TransferEngine.open({ provider: 'tcp', ...settings });
  onTestFinished(() => a.close());
  const receiver = new Receiver('tcp', 1, 0, settings);
  const peer = await receiver.meet(a);
  const pool = a.pool({ size: CHUNK, count: 4 });
  const upload = peer.writable((await receiver.offer(20 * CHUNK)).token, { pool });
  upload.write(pattern(2 * CHUNK + 1));
  const incoming = a.incoming({ from: peer, pool });
  const outgoing = a.outgoing({ to: peer, pool });
  outgoing.write('x');
  const ends = [upload, incoming, outgoing].map((stream) => once(stream, 'error'));
  receiver.child.kill('SIGKILL');
  for (const [error] of await Promise.all(ends))
    expect(error).toMatchObject({ code: 'FI_ECONNRESET' });
  await expect.poll(() => pool.stats().leased).toBe(0);
});

describe('over tcp', () => {
  const options = { provider: 'tcp' };

  test('a token is for one stream, of one direction, from its engine, before it expires', async () => {
    const { a, b, toA, toB } = await streamPair(options);
    const incoming = b.incoming({ from: toA });
    expect(() => toB.download(incoming.token)).toThrow('is for an upload');
    expect(() => toB.writable(`${incoming.token.slice(0, -2)}AA`)).toThrow('was damaged');
    expect(() => toA.writable(incoming.token)).toThrow('is from another engine');
    const self = await b.peer(b.address);
    expect(() => self.writable(incoming.token)).toThrow('is for another engine');
    const first = toB.writable(incoming.token);
    expect(() => toB.writable(incoming.token)).toThrow(
      expect.objectContaining({ code: 'FI_EKEYREJECTED' }),
    );
    const ended = once(first, 'close');
    first.end('x');
    expect(String(await buffer(incoming))).toBe('x');
    await ended;
    expect(() => toB.writable(incoming.token)).toThrow(
      expect.objectContaining({ code: 'FI_EKEYREJECTED' }),
    );

    const late = b.incoming({ from: toA, expires: 1 });
    const expired = Date.now() + 1;
    expect((await once(late, 'error'))[0]).toMatchObject({ code: 'FI_ETIMEDOUT' });
    while (Date.now() <= expired) await turn();
    expect(() => toB.writable(late.token)).toThrow(
      expect.objectContaining({ code: 'FI_EKEYREJECTED' }),
    );
    const memory = await b.allocate(CHUNK);
    const offer = await memory.offer({ access: 'write', to: toA });
    const writable = toB.writable(offer.token);
    expect(() => toB.writable(offer.token)).toThrow(
      expect.objectContaining({ code: 'FI_EKEYREJECTED' }),
    );
    writable.destroy();
    expect(a.stats().transfers.running).toBe(0);
  });

  test('more bytes than the offered memory has are a RangeError, and nothing arrives', async () => {
    const { b, toA, toB, poolA } = await streamPair(options);
    const memory = await b.allocate(3 * CHUNK);
    const offer = await memory.offer({ access: 'write', to: toA });
    const error = await errorOf(toB.upload([pattern(4 * CHUNK)], offer.token, { pool: poolA }));
    expect(error).toMatchObject({ code: 'ERR_OUT_OF_RANGE' });
    expect(await errorOf(offer.arrived)).toMatchObject({ code: 'FI_ECONNABORTED' });
  });

  test('a peer that does nothing ends a stream with FI_ETIMEDOUT', async () => {
    const { b, toA, toB } = await streamPair(options);
    const incoming = b.incoming({ from: toA }); // nobody reads it
    const waiting = errorOf(toB.upload([pattern(10)], incoming.token, { timeout: 20 }));
    expect(await waiting).toMatchObject({ code: 'FI_ETIMEDOUT' });
    expect((await once(incoming, 'error'))[0]).toMatchObject({ code: 'FI_ECONNABORTED' });
    const idle = b.incoming({ from: toA, timeout: 20 });
    const writable = toB.writable(idle.token);
    writable.on('error', () => {});
    expect(await errorOf(buffer(idle))).toMatchObject({ code: 'FI_ETIMEDOUT' });
  });

  test('wrong arguments are refused', async () => {
    const { a, b, toA, toB } = await streamPair(options);
    const code = (call: () => unknown) => {
      try {
        call();
      } catch (error) {
        return (error as { code: string }).code;
      }
      return expect.fail('did not throw');
    };
    const wrong = (value: unknown) => value as never;
    expect(code(() => b.incoming({ from: toB }))).toBe('ERR_INVALID_ARG_VALUE');
    expect(code(() => b.incoming(wrong({ to: toA })))).toBe('ERR_INVALID_ARG_VALUE');
    expect(code(() => b.outgoing({ to: wrong(1) }))).toBe('ERR_INVALID_ARG_TYPE');
    expect(code(() => b.outgoing({ to: toA, pool: wrong({}) }))).toBe('ERR_INVALID_ARG_TYPE');
    const incoming = b.incoming({ from: toA });
    incoming.on('error', () => {});
    for (const source of [undefined, null, 1, 'text', new Uint8Array(3), {}])
      expect(
        await errorOf(
          toB.upload(wrong(source), b.incoming({ from: toA }).on('error', () => {}).token),
        ),
      ).toMatchObject({ code: 'ERR_INVALID_ARG_TYPE' });
    expect(await errorOf(toB.upload(wrong(['text']), incoming.token))).toMatchObject({
      code: 'ERR_INVALID_ARG_TYPE',
    });
    const readable = b.incoming({ from: toA }).on('error', () => {}) as TransferReadable;
    expect(await errorOf(readable.saveTo(wrong('path')))).toMatchObject({
      code: 'ERR_INVALID_ARG_TYPE',
    });
    await a.close();
    expect(code(() => a.incoming({ from: toB }))).toBe('ERR_CLOSED');
  });

  test('console.log() shows no token', async () => {
    const { b, toA, toB } = await streamPair(options);
    const incoming = b.incoming({ from: toA }).on('error', () => {});
    const outgoing = b.outgoing({ to: toA }).on('error', () => {});
    const writable = toB.writable(incoming.token).on('error', () => {});
    const download = toB.download(outgoing.token).on('error', () => {});
    const texts = [incoming, outgoing, writable, download].map((stream) => inspect(stream));
    expect(texts).toEqual([
      'IncomingStream {}',
      'OutgoingStream {}',
      'TransferWritable {}',
      'TransferReadable {}',
    ]);
    for (const stream of [incoming, outgoing, writable, download]) stream.destroy();
    expect(inspect(incoming)).toBe('IncomingStream { destroyed: true }');
  });
});
