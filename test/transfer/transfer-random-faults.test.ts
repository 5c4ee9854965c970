import '../support/four-nics.js';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultKind, SoftefaFaults } from 'libfabric/softefa';
import { TransferEngine } from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { pattern, randomWords } from '../support/bytes.js';
import { Receiver } from '../support/receiver.js';
import { seed } from '../support/seed.js';
import { namespace } from '../support/softefa.js';

// The nightly workflow runs more of them, with other seeds.
const TRANSFERS = Number(process.env.LIBFABRIC_TRANSFERS ?? 200);
const AT_ONCE = 8;
const LARGEST = 3 << 20;

/** Random integers from 0 to `below`, from a seed. */
function random(from: number) {
  const next = randomWords(from);
  return (below: number) => Math.floor((next() / 2 ** 32) * below);
}

test(
  `efa: ${TRANSFERS} transfers with random faults, reordered and delayed, arrive whole (seed ${seed})`,
  async () => {
    const next = random(seed);
    const faults = new SoftefaFaults({ namespace });
    onTestFinished(() => faults.close());
    const engine = await TransferEngine.open({ provider: 'efa' });
    onTestFinished(() => engine.close());
    const receiver = new Receiver('efa', 4, 1);
    const remote = await receiver.meet(engine);
    const bytes = pattern(LARGEST, seed);
    const memory = await engine.register(bytes);
    faults.set({ reorder: 0.1, delay: 0.01 });

    let ended = false;
    const kinds: FaultKind[] = ['portDown', 'freeze', 'delay', 'rnr'];
    const disturb = async () => {
      while (!ended) {
        const kind = kinds[next(kinds.length)] as FaultKind;
        const value = kind === 'delay' ? 2 : 0;
        const fault = faults.add(kind, { node: next(2), nic: next(4), value });
        await sleep(5 + next(60));
        fault.remove();
        await sleep(next(40));
      }
    };

    const transferOne = async () => {
      const length = 1 + next(next(2) === 0 ? LARGEST : 20_000);
      const offset = next(LARGEST - length);
      const offer = await receiver.offer(length, 60_000);
      const transfer = remote.write(memory.slice(offset, offset + length), offer.token, {
        timeout: 60_000,
      });
      await transfer;
      const expected = createHash('sha1').update(bytes.subarray(offset, offset + length));
      expect(await offer.outcome).toBe(expected.digest('hex'));
      await offer.released;
    };

    const disturbing = disturb();
    let begun = 0;
    const worker = async () => {
      while (begun++ < TRANSFERS) await transferOne();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker)).finally(() => {
      ended = true;
    });
    await disturbing;
  },
  140_000 + TRANSFERS * 100,
);
