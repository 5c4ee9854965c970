// A peer of the efa provider is killed during transfers, and another process replaces it.
import { open } from 'libfabric';
import { SoftefaFaults } from 'libfabric/softefa';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { slow } from '../support/cases.js';
import { OtherProcess, type Received } from '../support/other-process.js';
import { settle } from '../support/settle.js';
import { namespace, withSoftefa } from '../support/softefa.js';
import { closing, efaError, fabricError } from '../support/transfer.js';

const faults = new SoftefaFaults({ namespace });
afterAll(() => faults.close());

const NO_SUCH_QUEUE_PAIR = 9; // the device's status: the queue pair ended with its process
const REFUSED = efaError(NO_SUCH_QUEUE_PAIR);
const MIB = 2 ** 20;

const opened = async () =>
  closing(await open({ provider: 'efa', caps: ['FI_MSG', 'FI_TAGGED', 'FI_RMA'] }));

let ep: Awaited<ReturnType<typeof opened>>;

beforeEach(async () => {
  ep = await opened();
});

/** Starts another process and exchanges messages with it. */
async function connect() {
  const other = await OtherProcess.start({ provider: 'efa', env: withSoftefa({ node: 1 }) });
  await other.ask('connect', ep.address);
  const peer = ep.av.insert(other.address);
  const received = other.ask<Received>('recv', 64);
  await settle(ep.send(pattern(64), peer));
  expectBytes((await received).bytes, pattern(64));
  const target = new Uint8Array(64);
  const answer = ep.recv(target);
  await other.ask('send', pattern(64, 2));
  await settle(answer);
  expectBytes(target, pattern(64, 2));
  return { other, peer, remote: ep.domain.remote(other.descriptor) };
}

type Connection = Awaited<ReturnType<typeof connect>>;

const bursts: Record<string, (connection: Connection) => Promise<unknown>[]> = {
  messages: ({ peer }) => Array.from({ length: 5000 }, () => ep.send(pattern(512), peer)),
  'messages that the peer reads': ({ peer }) =>
    Array.from({ length: 20 }, () => ep.send(pattern(MIB), peer)),
  writes: ({ peer, remote }) =>
    Array.from({ length: 2000 }, () =>
      ep.write(pattern(4096), peer, remote, { flags: ['FI_DELIVERY_COMPLETE'] }),
    ),
  reads: ({ peer, remote }) =>
    Array.from({ length: 500 }, () => ep.read(new Uint8Array(65_536), peer, remote)),
};

describe('efa: the peer is killed', () => {
  test.each(Object.entries(bursts))('while %s are in flight: all settle', async (_, burst) => {
    const connection = await connect();
    // Delays all of them until the peer has ended.
    const freeze = faults.add('freeze', { node: 1 });
    const outcomes = Promise.allSettled(burst(connection));
    while (freeze.hits === 0) await new Promise(setImmediate);
    await connection.other.kill();
    freeze.remove();
    // Only close() ends the sends that the killed peer would have read.
    await settle(Promise.race([outcomes, ep.close({ timeout: 2000 })]));
    await settle(ep.close());
    const failed = (await outcomes).map(
      (outcome) => outcome.status === 'rejected' && outcome.reason,
    );
    for (const error of failed) {
      expect([fabricError(REFUSED), fabricError('FI_ECANCELED')]).toContainEqual(error);
      if (error.code === REFUSED) expect(error.provErrno).toBe(NO_SUCH_QUEUE_PAIR);
    }
  });

  test('and later operations fail with the device’s status', async () => {
    const { other, peer, remote } = await connect();
    await other.kill();
    const outcomes = Promise.allSettled([
      ep.send(pattern(64), peer),
      ep.tsend(pattern(64), peer, 1n),
      ep.send(pattern(MIB), peer),
      ep.write(pattern(64), peer, remote, { flags: ['FI_DELIVERY_COMPLETE'] }),
      ep.read(new Uint8Array(64), peer, remote),
    ]);
    for (const outcome of await settle(outcomes)) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { name: 'FabricError', code: REFUSED, provErrno: NO_SUCH_QUEUE_PAIR },
      });
    }
    await settle(ep.close());
  });

  if (slow)
    test('and five successors can be reached by their addresses', async () => {
      const seen = new Set<string>();
      for (let generation = 0; generation < 5; generation++) {
        const { other, peer, remote } = await connect();
        expect(seen).not.toContain(Buffer.from(other.address).toString('hex'));
        seen.add(Buffer.from(other.address).toString('hex'));
        await settle(
          ep.write(pattern(MIB, generation), peer, remote, { flags: ['FI_DELIVERY_COMPLETE'] }),
        );
        expectBytes(await other.ask<Uint8Array>('memory', MIB), pattern(MIB, generation));
        if (generation % 2 === 0) ep.send(pattern(4 * MIB), peer).catch(() => {}); // the peer never reads it
        await other.kill();
        if (generation % 2 === 1) await settle(ep.av.remove(peer));
      }
    });
});
