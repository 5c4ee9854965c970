// Options whose bytes an engine copies: later changes of the caller's buffers have no effect.
import { TransferEngine, type TransferEngineOptions } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { enginePair } from '../support/engines.js';

const TCP = { provider: 'tcp', node: '127.0.0.1' } as const;
const WORDS = 'what the engines of the cluster share';

async function open(options: TransferEngineOptions): Promise<TransferEngine> {
  const engine = await TransferEngine.open(options);
  onTestFinished(() => engine.close());
  return engine;
}

describe('the secret of an engine', () => {
  test('is what it was at the call, even if the caller wipes its buffer at once', async () => {
    const secret = Buffer.from(WORDS);
    const opening = open({ ...TCP, secret });
    secret.fill(0);
    const engine = await opening;
    const sharing = await open({ ...TCP, secret: WORDS });
    const guessing = await open({ ...TCP, secret: Buffer.alloc(WORDS.length) });
    expect((await engine.peer(sharing.address)).id).toBe(sharing.id);
    expect((await sharing.peer(engine.address)).id).toBe(engine.id);
    await expect(engine.peer(guessing.address)).rejects.toThrow('sealed with another `secret`');
    await expect(guessing.peer(engine.address)).rejects.toThrow('sealed with another `secret`');
  });

  test('survives that its ArrayBuffer is transferred to somebody else', async () => {
    const secret = new TextEncoder().encode(WORDS);
    const engine = await open({ ...TCP, secret });
    structuredClone(secret, { transfer: [secret.buffer] });
    const sharing = await open({ ...TCP, secret: WORDS });
    expect((await engine.peer(sharing.address)).id).toBe(sharing.id);
  });

  const detached = new Uint8Array(8);
  structuredClone(detached, { transfer: [detached.buffer] });

  test.each([
    ['text', ''],
    ['a buffer', Buffer.alloc(0)],
    ['a detached buffer', detached],
  ])('must not be empty: %s', async (_, secret) => {
    await expect(TransferEngine.open({ ...TCP, secret })).rejects.toMatchObject({
      name: 'TypeError',
      code: 'ERR_INVALID_ARG_VALUE',
      message: expect.stringMatching(/^options\.secret is empty: omit it, or /),
    });
  });
});

test('a transfer that waits for its turn has the notification of the call', async () => {
  const { a, b, toA, toB } = await enginePair({ ...TCP, maxTransfers: 1 });
  const size = 1 << 20;
  const from = await a.register(pattern(size));
  const into = await b.register(new Uint8Array(2 * size));
  const offers = [
    await into.slice(0, size).offer({ access: 'write', to: toA }),
    await into.slice(size).offer({ access: 'write', to: toA }),
  ] as const;
  const first = toB.write(from, offers[0].token);
  const notification = Buffer.from('written at the call');
  const waiting = toB.write(from, offers[1].token, { notification });
  expect(a.stats().transfers).toMatchObject({ running: 1, waiting: 1 });
  notification.fill('x');
  await Promise.all([first, waiting]);
  const arrived = await offers[1].arrived;
  expect(Buffer.from(arrived.notification!).toString()).toBe('written at the call');
});
