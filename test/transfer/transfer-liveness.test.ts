// Peers that are killed, stopped or busy while something is open with them.
import '../support/softefa.js';
import { dumpState } from 'libfabric';
import { type EngineEvent, type RemoteEngine as Peer, TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { casesOf, quick, slow } from '../support/cases.js';
import { enginePair } from '../support/engines.js';
import { until } from '../support/lifecycle.js';
import { Receiver } from '../support/receiver.js';

const LIMIT = 1000; // ms
const SLACK = 1000; // ms that a busy machine may take longer
const SIZE = 4 << 20;
const LARGE = 64 << 20; // more than the buffers of sockets
const RESET = { code: 'FI_ECONNRESET', message: expect.stringMatching(/the peer is lost: ./) };

const rejects = (promise: PromiseLike<unknown>) => expect(promise).rejects.toMatchObject(RESET);

/** The states of peers, in order. */
function statesOf(engine: TransferEngine): Map<string, string[]> {
  const states = new Map<string, string[]>();
  const note = (event: EngineEvent) => {
    if (event.type !== 'peer') return;
    expect(event.reason).toMatch(/./);
    states.set(event.peer.id, [...(states.get(event.peer.id) ?? []), event.state]);
  };
  (async () => {
    for await (const event of engine.events()) note(event);
  })();
  return states;
}

const providers = casesOf(['tcp', 'shm', 'efa'], (provider) => provider === 'efa');

test.each(providers)('%s: killed, stopped and busy peers', async (provider) => {
  const settings = { mapMemory: false };
  const options = { provider, nics: 1, liveness: LIMIT, ...settings };
  const engine = await TransferEngine.open(options);
  onTestFinished(() => engine.close());
  const receivers = [1, 2, 3, 4].map((node) => new Receiver(provider, 1, node, settings));
  const [idle, used, stopped, busy] = receivers as [Receiver, Receiver, Receiver, Receiver];
  const peers = await Promise.all(receivers.map((each) => each.meet(engine)));
  const [toIdle, toUsed, toStopped, toBusy] = peers as [Peer, Peer, Peer, Peer];
  const states = statesOf(engine);
  const pool = engine.pool({ size: SIZE, count: 4 });
  const memory = await engine.register(pattern(SIZE));
  const offerTo = async (to: Peer) => {
    const lease = await pool.acquire();
    const offer = await lease.offer({ access: 'write', to });
    return { lease, offer };
  };

  const unused = await offerTo(toIdle);
  const held = await offerTo(toStopped);
  const kept = await offerTo(toBusy);
  const { token } = await used.offer(SIZE);
  used.child.kill('SIGSTOP'); // so that its transfer waits when the process ends
  const lease = await pool.acquire();
  const transfer = toUsed.write(lease, token);
  const ends = [
    rejects(unused.offer.arrived),
    rejects(transfer),
    rejects(toUsed.notify(pattern(8))),
    rejects(engine.group([toUsed]).barrier()),
    rejects(held.offer.arrived),
  ];
  const blocked = busy.block(3000);
  stopped.child.kill('SIGSTOP');
  const began = performance.now();
  for (const { child } of [idle, used]) child.kill('SIGKILL');
  await Promise.all(ends);
  expect(performance.now() - began).toBeLessThan(LIMIT + SLACK);
  expect(peers.map(({ state }) => state)).toEqual(['lost', 'lost', 'lost', 'connected']);

  // The memory of the peers that have ended is free. That of the peer that may go on is not.
  lease.release();
  unused.lease.release();
  held.lease.release();
  await Promise.all([transfer.released, unused.offer.released]);
  await until(() => pool.stats().leased === 2);
  stopped.child.kill('SIGCONT');
  await until(() => toStopped.state === 'connected');
  await held.offer.released;
  await until(() => pool.stats().leased === 1);
  const { token: again, outcome } = await stopped.offer(SIZE);
  await toStopped.write(memory, again);
  expect(await outcome).toMatch(/^[0-9a-f]{40}$/);

  await blocked;
  expect(toBusy.state).toBe('connected');
  expect(states.get(toBusy.id) ?? []).not.toContain('lost');
  expect(states.get(toStopped.id)).toEqual(['silent', 'lost', 'connected']);
  expect(states.get(toIdle.id)).toEqual(['silent', 'lost']);
  await kept.offer.close();
  const [state] = dumpState().transferEngines;
  expect(state).toMatchObject({ transfers: [], offers: [] });
  const closing = performance.now();
  await engine.close();
  expect(performance.now() - closing).toBeLessThan(2500);
});

test.runIf(slow)('errors of the provider show that a peer has died, without probes', async () => {
  const settings = { mapMemory: false };
  const engine = await TransferEngine.open({ provider: 'tcp', liveness: false, ...settings });
  onTestFinished(() => engine.close());
  const victim = new Receiver('tcp', 1, 0, settings);
  const peer = await victim.meet(engine);
  const { token } = await victim.offer(LARGE);
  const memory = await engine.register(pattern(LARGE));
  await peer.notify(pattern(8)); // makes a connection, which breaks
  victim.child.kill('SIGSTOP');
  const transfer = peer.write(memory, token);
  const ended = rejects(transfer);
  await until(() => engine.rails[0]?.state === 'stalled' || engine.rails[0]?.stalls !== 0);
  victim.child.kill('SIGKILL');
  await ended;
  expect(peer.state).toBe('lost');
  await transfer.released;
});

test.runIf(quick)('a peer gets probes only while something is open with it', async () => {
  const options = { provider: 'tcp', nics: 1, liveness: LIMIT };
  const { a, b, toB } = await enginePair(options);
  const { b: other, toB: toOther } = await enginePair(options);
  const memory = await a.allocate(4096);
  const offer = await memory.offer({ access: 'write', to: toB });
  const messages = (engine: TransferEngine) => engine.rails[0]?.messages ?? 0;
  await until(() => messages(b) >= 2);
  expect(messages(other)).toBe(0);
  expect(toOther.state).toBe('connected');
  await offer.close();
  const last = messages(b);
  await toOther.notify(pattern(8)); // this opens something with another peer
  await toB.notify(pattern(8));
  expect(messages(b)).toBeLessThanOrEqual(last + 2);
});

test.runIf(quick)('options that are no limits are refused', async () => {
  for (const liveness of [0, 99, -1, Number.NaN]) {
    await expect(TransferEngine.open({ liveness })).rejects.toMatchObject({
      code: 'ERR_OUT_OF_RANGE',
    });
  }
  for (const liveness of [true, '5'] as never[]) {
    await expect(TransferEngine.open({ liveness })).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG_TYPE',
    });
  }
});
