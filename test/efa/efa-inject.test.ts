// FI_INJECT (fi_endpoint(3)): the buffer may be reused as soon as an operation is posted. The device reads memory later.
import '../support/default-queues.js';
import { expect, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { exchangeMessage, until } from '../support/lifecycle.js';
import { testFaults } from '../support/softefa.js';
import { pair } from '../support/transfer.js';

const faults = testFaults();
const LATE = 200; // ms
const LENGTH = 3000;
const options = { flags: ['FI_INJECT'] } as const;

test.for(['send', 'tsend', 'write', 'a batch', 'a compiled batch'] as const)(
  '%s with FI_INJECT carries what its buffer held when it was posted, however late the device reads',
  async (operation, context) => {
    const { a, b, toB } = await pair(context, 'efa', ['FI_MSG', 'FI_TAGGED', 'FI_RMA']);
    await exchangeMessage(a, b);
    await exchangeMessage(b, a);
    const from = await a.domain.allocate(LENGTH, ['FI_SEND', 'FI_WRITE']);
    const into = await b.domain.allocate(LENGTH, ['FI_RECV', 'FI_REMOTE_WRITE']);
    const remote = a.domain.remote(into.descriptor());
    const batch = a.batch();
    batch.send(from, toB, options);
    // The second submission compiles it.
    if (operation === 'a compiled batch') await Promise.all([batch.submit(), b.recv(into)]);
    const post = {
      send: () => Promise.all([a.send(from, toB, options), b.recv(into)]),
      tsend: () => Promise.all([a.tsend(from, toB, 1n, options), b.trecv(into, null, 1n)]),
      'a batch': () => Promise.all([batch.submit(), b.recv(into)]),
      'a compiled batch': () => Promise.all([batch.submit(), b.recv(into)]),
      write: () => a.write(from, toB, remote, { flags: ['FI_INJECT', 'FI_DELIVERY_COMPLETE'] }),
    }[operation];

    faults.add('delay', { value: LATE });
    from.bytes.set(pattern(LENGTH));
    const { operations } = a.domain.stats();
    const done = post();
    await until(() => a.domain.stats().operations > operations);
    from.bytes.fill(0);
    await done;
    expect(into.bytes).toEqual(pattern(LENGTH));
  },
);
