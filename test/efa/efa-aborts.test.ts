// Cases in which the efa provider calls abort(3), after some lines on stderr, although its endpoint has an
// event queue.
import { version } from 'libfabric';
import { expect, test } from 'vitest';
import { runInline } from '../support/command.js';
import { ownNamespace } from '../support/own-namespace.js';
import { withSoftefa } from '../support/softefa.js';

test('efa aborts if more messages overtake another than its receive window holds', (context) => {
  context.skip(version().major > 1, 'only libfabric 1.17 aborts');
  const source = `
    import { open } from 'libfabric';
    import { SoftefaFaults } from 'libfabric/softefa';
    const a = await open({ provider: 'efa' });
    const b = await open({ provider: 'efa' });
    const toB = a.av.insert(b.address);
    const message = () => new Uint8Array(64);
    new SoftefaFaults().set({ reorder: 100 });
    const all = Array.from({ length: 500 }, () => [b.recv(message()), a.send(message(), toB)]);
    await Promise.all(all.flat());`;
  const device = withSoftefa({ namespace: ownNamespace('aborts') });
  const { signal, stderr } = runInline(source, { ...device, FI_EFA_RECVWIN_SIZE: '16' });
  expect(stderr).toContain('receive window size (16) is too small');
  expect(signal).toBe('SIGABRT');
});
