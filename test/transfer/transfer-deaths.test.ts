import '../support/softefa.js';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { TransferEngine, TransferError } from 'libfabric/transfer';
import { describe, expect, onTestFinished, test } from 'vitest';
import { pattern } from '../support/engines.js';
import { Receiver } from '../support/receiver.js';
import { withSoftefa } from '../support/softefa.js';

const SIZE = 32 << 20;
const DEADLINE = 1500;
// Milliseconds from the start of a transfer to the death of a side. A transfer takes 3 to 30 ms.
const MOMENTS = [0, 2, 8, 30];

// All moments at once: most of the time passes in waiting for the deadline.
const atEachMoment = (run: (moment: number) => Promise<void>) => Promise.all(MOMENTS.map(run));

const open = async (provider: string) => {
  const engine = await TransferEngine.open({ provider, nics: 2 });
  onTestFinished(() => engine.close());
  return engine;
};

describe.each(['shm', 'tcp', 'efa'])('%s', (provider) => {
  test('transfers to a process that is killed end within their deadline', async () => {
    const bytes = pattern(SIZE);
    await atEachMoment(async (moment) => {
      const engine = await open(provider);
      const place = await engine.register(bytes);
      const receiver = new Receiver(provider, 2, 1);
      const remote = await receiver.meet(engine);
      const { token } = await receiver.offer(SIZE);
      const transfer = remote.write(place, token, { deadline: DEADLINE });
      const began = performance.now();
      const settled = Promise.allSettled([transfer]);
      if (moment > 0) await sleep(moment);
      receiver.child.kill('SIGKILL');
      const [result] = await settled;
      expect(performance.now() - began).toBeLessThan(DEADLINE + 5000);
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(TransferError);
      await engine.close();
      await transfer.released;
    });
  });

  test('offers to a process that is killed end when they expire, and the memory is free', async () => {
    await atEachMoment(async (moment) => {
      const engine = await open(provider);
      const place = await engine.allocate(SIZE);
      const program = fileURLToPath(new URL('../programs/transfer-sender.mjs', import.meta.url));
      const env = provider === 'efa' ? withSoftefa({ nics: 2, node: 1 }) : process.env;
      const sender = fork(program, [provider, '2'], { env });
      await once(sender, 'message');
      sender.send({ card: engine.card });
      const [{ card }] = await once(sender, 'message');
      const to = await engine.peer(card);
      const offer = await place.offer({ access: 'write', to, expires: DEADLINE });
      sender.send({ token: offer.token, length: SIZE });
      await once(sender, 'message');
      if (moment > 0) await sleep(moment);
      sender.kill('SIGKILL');
      const [result] = await Promise.allSettled([offer.arrived]);
      if (result.status === 'rejected')
        expect(result.reason.code).toMatch(/FI_E(TIMEDOUT|CANCELED)/);
      await offer.close();
      await place.close();
      await engine.close();
    });
  });
});
