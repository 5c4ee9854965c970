// Whether a promise that nothing awaits ends the process. A call that close() cancels must not, and every failure must.
import { describe, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { runInline } from '../support/command.js';
import { runCleanly } from '../support/lifecycle.js';
import { drivers, PROVIDERS } from '../support/providers.js';

const waiting = [
  'arrived',
  'batch',
  'limited',
  'recv',
  'recvv',
  'rounds',
  'trecv',
  'unread',
  'until',
];
const CLOSINGS = ['endpoint', 'domain', 'cq', 'av'];
// Quick: each provider and each driver once, and each object once.
const cases = casesOf(
  PROVIDERS.flatMap((provider) =>
    drivers.flatMap((driver) => CLOSINGS.map((which) => ({ provider, driver, which }))),
  ),
  ({ provider, driver, which }) =>
    PROVIDERS.indexOf(provider) === drivers.indexOf(driver) &&
    (provider === 'shm' || which === 'endpoint'),
);

test.each(cases)(
  'promises of calls that close() of the $which cancels can be handled later, or never: $provider, $driver driver',
  async ({ provider, driver, which }) => {
    const ended = waiting.filter((name) => which !== 'av' || name !== 'arrived');
    const stdout = [...ended.map((name) => `${name} FI_ECANCELED`), 'others'].join('\n');
    await runCleanly('lifecycle-cancelled', [provider, driver, which], { stdout });
  },
);

describe('a failure that nobody handles ends the process', () => {
  const ends = (source: string) => {
    const { status, stdout, stderr } = runInline(`
      import { open } from 'libfabric';
      const options = { caps: ['FI_MSG', 'FI_RMA'], node: '127.0.0.1' };
      const a = await open({ provider: 'tcp', ...options });
      const b = await open({ provider: 'tcp', ...options });
      const toB = a.av.insert(b.address);
      ${source}
    `);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    return stderr;
  };

  test('a timeout', () => {
    expect(ends('a.recv(new Uint8Array(8), null, { timeout: 1 });')).toContain('FI_ETIMEDOUT');
  });

  test('a signal', () => {
    const text = ends(`
      const signal = AbortSignal.abort();
      a.recv(new Uint8Array(8), null, { signal });
    `);
    expect(text).toContain('AbortError');
  });

  test('an operation that the provider cancels, because the peer refuses it', () => {
    const text = ends(`
      const region = await b.domain.allocate(64, ['FI_REMOTE_READ']);
      const remote = a.domain.remote(region.descriptor());
      a.write(new Uint8Array(64), toB, remote, { flags: ['FI_DELIVERY_COMPLETE'] });
    `);
    expect(text).toContain('FI_ECANCELED');
  });

  test('in a call that was made after close()', () => {
    expect(ends('await a.close(); a.recv(new Uint8Array(8));')).toContain('ERR_CLOSED');
  });
});
