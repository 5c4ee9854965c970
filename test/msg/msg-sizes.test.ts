import { describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { everywhere } from '../support/cases.js';
import { common } from '../support/providers.js';
import { Guarded, pair } from '../support/transfer.js';

const MIB = 2 ** 20;

describe.each(everywhere)('%s, %s driver', (provider, driver) => {
  test('messages of every size arrive intact, and no byte outside the buffer is written', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const { a, b, toB } = wire;
    for (const size of [0, 1, 64, 4096, 65_536, MIB]) {
      const sent = pattern(size, size + 1);
      const target = new Guarded(size);
      const received = b.recv(target.bytes);
      await wire.done(a.send(sent, toB));
      const completion = await wire.done(received);
      expect(completion.length).toBe(size);
      expect(completion.flags).toEqual(expect.arrayContaining(['FI_RECV', 'FI_MSG']));
      expect(completion.data).toBeUndefined();
      expectBytes(target.bytes, sent);
      target.expectIntact();
    }
  });

  test('a message shorter than its buffer does not change the rest of the buffer', async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], driver);
    const target = new Uint8Array(100).fill(7);
    const received = wire.b.recv(target);
    await wire.done(wire.a.send(pattern(10), wire.toB));
    expect((await wire.done(received)).length).toBe(10);
    expectBytes(target.subarray(0, 10), pattern(10));
    expect([...target.subarray(10)]).toEqual(Array(90).fill(7));
  });
});

test.for(common)('%s carries 8 MiB in one message', async (provider, context) => {
  const wire = await pair(context, provider, ['FI_MSG']);
  const sent = pattern(8 * MIB);
  const target = new Guarded(8 * MIB);
  const received = wire.b.recv(target.bytes);
  await wire.done(wire.a.send(sent, wire.toB));
  expect((await wire.done(received)).length).toBe(8 * MIB);
  expectBytes(target.bytes, sent);
  target.expectIntact();
});
