// A peer of the efa provider is killed in the middle of everything, and another process takes its
// place.
import { open } from 'libfabric';
import { SoftefaFaults } from 'libfabric/softefa';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { OtherProcess, type Received } from '../support/other-process.js';
import { namespace, withSoftefa } from '../support/softefa.js';
import {
  closing,
  efaError,
  expectBytes,
  fabricError,
  pattern,
  settle,
} from '../support/transfer.js';

const faults = new SoftefaFaults({ namespace });
afterAll(() => faults.close());

const NO_SUCH_QUEUE_PAIR = 9; // the device's status: it went with its process
const REFUSED = efaError(NO_SUCH_QUEUE_PAIR);
const MIB = 2 ** 20;

const opened = async () =>
  closing(await open({ provider: 'efa', caps: ['FI_MSG', 'FI_TAGGED', 'FI_RMA'] }));

let ep: Awaited<ReturnType<typeof opened>>;

beforeEach(async () => {
  ep = await opened();
});

/** Another process, which has exchanged messages with ep. */
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

type Meeting = Awaited<ReturnType<typeof connect>>;

const floods: Record<string, (meeting: Meeting) => Promise<unknown>[]> = {
  messages: ({ peer }) => Array.from({ length: 5000 }, () => ep.send(pattern(512), peer)),
  'messages that the peer would fetch': ({ peer }) =>
    Array.from({ length: 20 }, () => ep.send(pattern(MIB), peer)),
  writes: ({ peer, remote }) =>
    Array.from({ length: 2000 }, () =>
      ep.write(pattern(4096), peer, remote, { flags: ['FI_DELIVERY_COMPLETE'] }),
    ),
  reads: ({ peer, remote }) =>
    Array.from({ length: 500 }, () => ep.read(new Uint8Array(65_536), peer, remote)),
};

describe('efa: the peer is killed', () => {
  test.each(Object.entries(floods))('while %s are under way: all settle', async (_, flood) => {
    const meeting = await connect();
    // Holds them all back until the peer has died.
    const silence = faults.add('freeze', { node: 1 });
    const outcomes = Promise.allSettled(flood(meeting));
    while (silence.hits === 0) await new Promise(setImmediate);
    await meeting.other.kill();
    silence.remove();
    // What the dead peer would have had to ask for can only be given up.
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

  test('and operations that begin afterwards fail with the device’s status', async () => {
    const { other, peer, remote } = await connect();
    await other.kill();
    for (const operation of [
      ep.send(pattern(64), peer),
      ep.tsend(pattern(64), peer, 1n),
      ep.send(pattern(MIB), peer),
      ep.write(pattern(64), peer, remote, { flags: ['FI_DELIVERY_COMPLETE'] }),
      ep.read(new Uint8Array(64), peer, remote),
    ]) {
      const error = await settle(operation.then(() => undefined).catch((e: unknown) => e));
      expect(error).toMatchObject({
        name: 'FabricError',
        code: REFUSED,
        provErrno: NO_SUCH_QUEUE_PAIR,
      });
    }
    await settle(ep.close());
  });

  test('and its successors are reached by their addresses, five times over', async () => {
    const seen = new Set<string>();
    for (let life = 0; life < 5; life++) {
      const { other, peer, remote } = await connect();
      expect(seen).not.toContain(Buffer.from(other.address).toString('hex'));
      seen.add(Buffer.from(other.address).toString('hex'));
      await settle(ep.write(pattern(MIB, life), peer, remote, { flags: ['FI_DELIVERY_COMPLETE'] }));
      expectBytes(await other.ask<Uint8Array>('memory', MIB), pattern(MIB, life));
      if (life % 2 === 0) ep.send(pattern(4 * MIB), peer).catch(() => {}); // is never asked for
      await other.kill();
      if (life % 2 === 1) await settle(ep.av.remove(peer));
    }
  });
});
