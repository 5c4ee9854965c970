// Many peers that are killed while something is open with them: the time until the engine knows. It takes minutes, so it
// is no part of `npm test`.
import '../support/softefa.js';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type EngineEvent, type RemoteEngine, TransferEngine } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern, randomWords } from '../support/bytes.js';
import { Receiver, removeLeftovers } from '../support/receiver.js';
import { seed } from '../support/seed.js';
import { withSoftefa } from '../support/softefa.js';

const KILLS = 100;
const AT_ONCE = 4;
const SIZE = 1 << 20;
const providers = ['tcp', 'shm', 'efa'] as const;
const settings = { mapMemory: false };
const RESET = expect.objectContaining({ code: 'FI_ECONNRESET' });
const next = randomWords(seed);
const upTo = (milliseconds: number) => (next() / 2 ** 32) * milliseconds;

/** Opens something with a peer, and kills its process. Returns when, and the promise of the end. */
type Kill = (
  engine: TransferEngine,
  peer: RemoteEngine,
  victim: Receiver,
) => Promise<{ readonly at: number; readonly end: PromiseLike<unknown> }>;

function kill({ child }: Receiver): number {
  child.kill('SIGKILL');
  return performance.now();
}

const kills: Readonly<Record<string, Kill>> = {
  'a write waits': async (engine, peer, victim) => {
    const { token } = await victim.offer(SIZE);
    const memory = await engine.register(pattern(SIZE));
    await sleep(upTo(500));
    victim.child.kill('SIGSTOP'); // so that the write does not end before the process
    const end = peer.write(memory, token);
    end.catch(() => {});
    return { at: kill(victim), end };
  },
  'an offer is idle': async (engine, peer, victim) => {
    const memory = await engine.allocate(SIZE);
    const { arrived } = await memory.offer({ access: 'write', to: peer });
    await sleep(upTo(500));
    return { at: kill(victim), end: arrived };
  },
  'a barrier waits': async (engine, peer, victim) => {
    const end = engine.group([peer]).barrier();
    end.catch(() => {});
    await sleep(upTo(500));
    return { at: kill(victim), end };
  },
  'a message waits': async (_, peer, victim) => {
    await sleep(upTo(500));
    victim.child.kill('SIGSTOP');
    const end = peer.notify(pattern(8));
    end.catch(() => {});
    return { at: kill(victim), end };
  },
};

/** When each peer was lost. */
function lossesOf(engine: TransferEngine): Map<string, number> {
  const losses = new Map<string, number>();
  const note = (event: EngineEvent) => {
    if (event.type !== 'peer' || event.state !== 'lost') return;
    losses.set(event.peer.id, performance.now());
  };
  (async () => {
    for await (const event of engine.events()) note(event);
  })();
  return losses;
}

/** Kills one peer in each way. Returns the milliseconds after which each is lost. */
async function killSome(provider: string, liveness: number): Promise<number[]> {
  await using engine = await TransferEngine.open({ provider, nics: 1, liveness, ...settings });
  const losses = lossesOf(engine);
  return await Promise.all(
    Object.values(kills).map(async (killOne, i) => {
      const victim = new Receiver(provider, 1, i + 1, settings);
      const peer = await victim.meet(engine);
      const { at, end } = await killOne(engine, peer, victim);
      await expect(end).rejects.toEqual(RESET);
      await expect.poll(() => losses.has(peer.id)).toBe(true);
      return (losses.get(peer.id) ?? Number.NaN) - at;
    }),
  );
}

const LARGE = 512 << 20;
const HELD = 4000; // ms: longer than the memory of a peer that has ended is held

test.each(providers)(
  '%s: bytes of a peer that was stopped while it wrote never arrive in memory that was released',
  { timeout: 120_000 },
  async (provider) => {
    await using engine = await TransferEngine.open({
      provider,
      nics: 1,
      liveness: 1000,
      ...settings,
    });
    const program = fileURLToPath(new URL('../programs/transfer-sender.mjs', import.meta.url));
    const env = provider === 'efa' ? withSoftefa({ nics: 1, node: 1 }) : process.env;
    const sender = fork(program, [provider, '1', JSON.stringify(settings)], { env });
    onTestFinished(() => {
      sender.kill('SIGKILL');
      removeLeftovers(sender);
    });
    await once(sender, 'message');
    sender.send({ address: engine.address });
    const [{ address }] = await once(sender, 'message');
    const to = await engine.peer(address);
    const memory = await engine.allocate(LARGE);
    const offer = await memory.offer({ access: 'write', to });
    sender.send({ token: offer.token, length: LARGE });
    await once(sender, 'message');
    while (memory.bytes[0] === 0) await setImmediate();
    sender.kill('SIGSTOP');
    await expect(offer.arrived).rejects.toEqual(RESET);
    expect(to.state).toBe('lost');
    // The peer has a copy in flight, so its memory stays.
    const early = offer.released.then(() => 'released');
    const isEarly = await Promise.race([early, sleep(HELD, 'held')]);
    expect(isEarly).toBe('held');

    const ended = once(sender, 'message');
    sender.kill('SIGCONT');
    await offer.released;
    expect(to.state).toBe('connected');
    memory.bytes.fill(7);
    expect((await ended)[0]).toEqual({ released: true });
    expect(memory.bytes.every((each) => each === 7)).toBe(true);
  },
);

describe.each([5000, 1000])('liveness %i ms', (liveness) => {
  test(`${KILLS} peers that are killed are lost in time`, { timeout: 900_000 }, async () => {
    const times: number[] = [];
    for (let i = 0; i < KILLS / AT_ONCE; i++) {
      times.push(...(await killSome(providers[i % providers.length] as string, liveness)));
    }
    times.sort((a, b) => a - b);
    const [median, max] = [times[KILLS / 2], times.at(-1)] as [number, number];
    console.log(
      `${KILLS} kills (seed ${seed}), liveness ${liveness} ms: known after ${Math.round(median)} ms (median), ` +
        `${Math.round(max)} ms (most)`,
    );
    expect(max).toBeLessThan(liveness);
  });
});
