// Statements of the documents about efa within a host, where it uses shared memory by default.
import '../support/efa-defaults.js';
import { version } from 'libfabric';
import { expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { casesOf } from '../support/cases.js';
import { runCleanly, until } from '../support/lifecycle.js';
import { HANG_MS } from '../support/limits.js';
import { drivers } from '../support/providers.js';
import { endpoint, pair } from '../support/transfer.js';

const { major } = version();
const ALREADY_PROCESSED = 4104;

test('efa through shm injects up to 4 KiB, less the headers in 1.17', async (context) => {
  const { info } = await endpoint(context, 'efa', ['FI_MSG']);
  expect(info.txAttr.injectSize).toBe(major < 2 ? 3928 : 4096);
});

test('efa of 1.17 through shm drops messages of a peer that is not in the vector while another is', async (context) => {
  const receiver = await endpoint(context, 'efa', ['FI_MSG']);
  const known = await endpoint(context, 'efa', ['FI_MSG']);
  const unknown = await endpoint(context, 'efa', ['FI_MSG']);
  receiver.av.insert(known.address);
  const exchange = async (from: typeof known, timeout: number) => {
    const received = receiver.recv(new Uint8Array(8), null, { timeout });
    const sent = from.send(pattern(8), from.av.insert(receiver.address));
    return (await Promise.allSettled([received, sent]))[0].status;
  };
  const errors: (number | undefined)[] = [];
  receiver.receiveQueue.onError = ({ provErrno }) => errors.push(provErrno);
  expect(await exchange(known, HANG_MS)).toBe('fulfilled');
  if (major < 2) {
    const second = exchange(unknown, 500);
    await until(() => errors.length > 0);
    expect([await second, errors]).toEqual(['rejected', [ALREADY_PROCESSED]]);
  } else {
    expect([await exchange(unknown, HANG_MS), errors]).toEqual(['fulfilled', []]);
  }
});

test('efa through shm: a message over 4 KiB that is longer than its receive breaks the endpoint in 1.17; 2.x never completes the receive', async (context) => {
  const wire = await pair(context, 'efa', ['FI_MSG']);
  const { a, b, toB } = wire;
  const options = { timeout: 1000 };
  const codeOf = ({ code }: { code: string }) => code;
  const received = b.recv(new Uint8Array(64), null, options).catch(codeOf);
  a.send(pattern(5000), toB).catch(() => {});
  expect(await received).toBe(major < 2 ? 'FI_ETRUNC' : 'FI_ETIMEDOUT');
  const next = b.recv(new Uint8Array(64), null, options).catch(codeOf);
  a.send(pattern(64), toB).catch(() => {});
  expect(await next).toEqual(major < 2 ? 'FI_ENOMEM' : expect.objectContaining({ length: 64 }));
});

test.each(casesOf(drivers, (driver) => driver === 'thread'))(
  'efa through shm, %s driver: writes to a killed peer settle',
  async (driver) => {
    await runCleanly('lifecycle-killed-peer', ['efa', driver, 'writes'], { stdout: 'true true' });
  },
);
