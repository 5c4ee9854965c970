// shm of libfabric 1.17 completes nothing after a peer was killed before it has answered an operation: the engine says so.
import { once } from 'node:events';
import { TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../support/lifecycle.js';
import { Receiver } from '../support/receiver.js';
import { release } from '../support/release.js';

const REASON =
  'the provider completes nothing, perhaps because a peer was killed; close this engine and open another one';

test.runIf(release() < 200)(
  'a rail over shm that completes nothing is stalled, and its memory is released when no peer may begin a copy',
  async () => {
    const settings = { liveness: 1000 };
    const engine = await TransferEngine.open({ provider: 'shm', ...settings });
    onTestFinished(() => engine.close());
    const [victim, other] = [1, 2].map(() => new Receiver('shm', 1, 0, settings));
    const [dying, living] = await Promise.all(
      [victim, other].map((receiver) => (receiver as Receiver).meet(engine)),
    );
    if (!victim || !dying || !living) throw new Error('no peers');
    await Promise.all([dying, living].map((peer) => peer.notify(new Uint8Array(8))));
    const events = engine.events();
    const pool = engine.pool({ size: 4096, count: 1 });
    const lease = await pool.acquire();
    const offer = await lease.offer({ access: 'write', to: living, expires: 3000 });
    const released = lease.released;

    victim.child.kill('SIGSTOP'); // so that it does not answer
    const unanswered = expect(dying.notify(new Uint8Array(8))).rejects.toMatchObject({
      code: 'FI_ECONNRESET',
    });
    await until(() => dying.state !== 'connected');
    victim.child.kill('SIGKILL');
    await once(victim.child, 'exit');
    await unanswered;

    for await (const event of events) {
      if (event.type !== 'rail') continue;
      expect([event.rail.state, event.reason]).toEqual(['stalled', REASON]);
      break;
    }
    const error = await offer.arrived.catch((reason) => reason);
    expect(error.code).toBe('FI_ECONNRESET');
    expect(error.message).toContain(REASON);
    expect(engine.rails.map(({ state }) => state)).toEqual(['stalled']);
    expect(living.state).toBe('lost');
    lease.release();
    await released;
    expect(pool.stats().leased).toBe(0);
  },
);
