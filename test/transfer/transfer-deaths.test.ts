import '../support/softefa.js';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TransferEngine, TransferError } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern, randomWords } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { Receiver, removeLeftovers } from '../support/receiver.js';
import { seed } from '../support/seed.js';
import { withSoftefa } from '../support/softefa.js';

const SIZE = 32 << 20;
const TIMEOUT = 1500;
// LIBFABRIC_KILLS=100 kills at random moments; LIBFABRIC_TEST_SEED=7 repeats them.
const KILLS = Number(process.env.LIBFABRIC_KILLS ?? 0);
// Milliseconds from the start of a transfer to the death of a side. A transfer takes 3 to 30 ms.
const MOMENTS = KILLS === 0 ? [0, 2, 8, 30] : randomMoments(KILLS, 40);
const AT_ONCE = 4;
const timeout = 150_000 + KILLS * 10_000;

function randomMoments(count: number, below: number): number[] {
  const next = randomWords(seed);
  return Array.from({ length: count }, () => Math.floor((next() / 2 ** 32) * below));
}

// Several moments at once: most of the time passes in waiting for the deadline. Afterwards a new engine starts.
async function atEachMoment(open: () => Promise<unknown>, run: (moment: number) => Promise<void>) {
  for (let i = 0; i < MOMENTS.length; i += AT_ONCE) {
    await Promise.all(MOMENTS.slice(i, i + AT_ONCE).map(run));
    if (KILLS > 0) console.log(`${Math.min(i + AT_ONCE, KILLS)} of ${KILLS} kills`);
  }
  await open();
}

const randomly = KILLS === 0 ? '' : ` (${KILLS} random moments, seed ${seed})`;

const all = [
  ['shm', false],
  ['tcp', false],
  ['tcp', true],
  ['efa', false],
] as const;

describe.each(casesOf(all, ([provider]) => provider === 'efa'))(
  `%s, memory mapped: %s${randomly}`,
  (provider, mapMemory) => {
    const open = async () => {
      const engine = await TransferEngine.open({ provider, nics: 2, mapMemory });
      onTestFinished(() => engine.close());
      return engine;
    };

    test('transfers to a process that is killed end within their timeout', {
      timeout,
    }, async () => {
      const bytes = pattern(SIZE);
      await atEachMoment(open, async (moment) => {
        const engine = await open();
        const memory = await engine.register(bytes);
        const receiver = new Receiver(provider, 2, 1, { mapMemory });
        const remote = await receiver.meet(engine);
        const { token } = await receiver.offer(SIZE);
        const transfer = remote.write(memory, token, { timeout: TIMEOUT });
        const began = performance.now();
        const settled = Promise.allSettled([transfer]);
        if (moment > 0) await sleep(moment);
        receiver.child.kill('SIGKILL');
        const [result] = await settled;
        expect(performance.now() - began).toBeLessThan(TIMEOUT + 5000);
        if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(TransferError);
        await engine.close();
        await transfer.released;
      });
    });

    test('offers to a process that is killed end when they expire, and the memory is free', {
      timeout,
    }, async () => {
      await atEachMoment(open, async (moment) => {
        const engine = await open();
        const memory = await engine.allocate(SIZE);
        const program = fileURLToPath(new URL('../programs/transfer-sender.mjs', import.meta.url));
        const env = provider === 'efa' ? withSoftefa({ nics: 2, node: 1 }) : process.env;
        const settings = JSON.stringify({ mapMemory });
        const sender = fork(program, [provider, '2', settings], { env });
        await once(sender, 'message');
        sender.send({ address: engine.address });
        const [{ address }] = await once(sender, 'message');
        const to = await engine.peer(address);
        const offer = await memory.offer({ access: 'write', to, expires: TIMEOUT });
        sender.send({ token: offer.token, length: SIZE });
        await once(sender, 'message');
        if (moment > 0) await sleep(moment);
        sender.kill('SIGKILL');
        const [result] = await Promise.allSettled([offer.arrived]);
        if (result.status === 'rejected')
          expect(result.reason.code).toMatch(/FI_E(TIMEDOUT|CANCELED)/);
        await offer.close();
        await memory.close();
        await engine.close();
        removeLeftovers(sender);
      });
    });
  },
);
