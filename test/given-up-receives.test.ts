// Receives that end before a message does: what arrives for them reaches the next receive.
import { describe, expect, test } from 'vitest';
import { datagram, datagramPair, drivers, expectBytes, fabricError, pattern } from './support/transfer.js';

describe.each(datagram.flatMap((provider) => drivers.map((driver) => [provider, driver] as const)))(
  'datagrams of %s, %s driver',
  (provider, driver) => {
    test('an aborted receive leaves the next message to the next receive', async (context) => {
      const wire = await datagramPair(context, provider, driver);
      const control = new AbortController();
      const given = new Uint8Array(64);
      const aborted = wire.b.recv(given, null, { signal: control.signal });
      await wire.postedByB(1);
      control.abort(new Error('enough'));
      expect(await wire.fails(aborted)).toHaveProperty('message', 'enough');
      const target = new Uint8Array(64);
      const received = wire.b.recv(target);
      await wire.postedByB(2);
      await wire.done(wire.a.send(pattern(40, 7), wire.toB));
      expect((await wire.done(received)).length).toBe(40);
      expectBytes(target.subarray(0, 40), pattern(40, 7));
      expectBytes(given, new Uint8Array(64));
    });
  },
);
