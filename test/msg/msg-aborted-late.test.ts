// Receives that are aborted while nothing turns the engine, which therefore handles the abort late.
import { expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { common } from '../support/providers.js';
import { settle } from '../support/settle.js';
import { pair } from '../support/transfer.js';

const ways = common.flatMap((provider) => [
  [provider, 'signal', 'enough'] as const,
  [provider, 'timeout', 'fi_cq_read'] as const,
]);

for (const [provider, way, why] of ways) {
  test(`${provider}, manual driver: a message after the ${way} of a receive completes the next one, though nothing has turned the engine`, async (context) => {
    const wire = await pair(context, provider, ['FI_MSG'], 'manual');
    const { a, b, toB } = wire;
    const first = b.recv(new Uint8Array(64));
    await wire.done(a.send(pattern(64, 1), toB));
    await wire.done(first);
    const given = new Uint8Array(64);
    const control = new AbortController();
    const wait = way === 'signal' ? { signal: control.signal } : { timeout: 5 };
    const aborted = b.recv(given, null, wait);
    await wire.postedByB(2);
    control.abort(new Error(why));
    await expect(aborted).rejects.toThrow(why);
    await settle(a.send(pattern(64, 2), toB), a.domain);
    const target = new Uint8Array(64);
    expect((await wire.done(b.recv(target))).length).toBe(64);
    expectBytes(target, pattern(64, 2));
    expectBytes(given, new Uint8Array(64));
  });
}
