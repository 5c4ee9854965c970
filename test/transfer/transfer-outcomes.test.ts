// Which unhandled promises of transfers end the process: those that fail, and not those that close() cancels.
import { describe, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { runInline } from '../support/command.js';
import { runCleanly, runProgram } from '../support/lifecycle.js';

const outcome = new URL('../../dist/transfer/outcome.js', import.meta.url).href;

const providers = casesOf(['shm', 'tcp', 'efa'], (provider) => provider === 'shm');

describe.each(providers)('%s', (provider) => {
  test('promises of calls that close() of the engine cancels can be handled later, or never', () =>
    runCleanly('transfer-cancelled', [provider], {
      stdout: [
        ...['write', 'read', 'arrived', 'scatter', 'barrier'].map((name) => `${name} FI_ECANCELED`),
        ...['notify', 'notifyAll', 'register', 'allocate', 'offer', 'closeMemory'],
      ].join('\n'),
    }));
});

const HANDLING = [
  'handles the transfer',
  'handles the arrival',
  'handles both',
  'asks for the arrival and handles the transfer',
  'handles the transfer and asks for the arrival',
  'handles its progress',
];

test.each(casesOf(HANDLING, (how) => how.endsWith('the transfer')))(
  'a program that %s of a failed transfer goes on',
  (how) => runCleanly('transfer-outcome', ['tcp', how], { stdout: 'alive' }),
);

const LEAVING = [
  'does nothing',
  'asks for the arrival',
  'leaves its progress',
  'derives a promise',
];

test.each(casesOf(LEAVING, (how) => how === 'does nothing' || how === 'derives a promise'))(
  'a program that %s does not handle the failure, which ends it',
  async (how) => {
    const { code, stdout, stderr } = await runProgram('transfer-outcome', ['tcp', how]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('TransferError');
  },
);

describe('a transfer that fails after its bytes have arrived', () => {
  const run = (text: string) =>
    runInline(`
      import { Outcome } from '${outcome}';
      const outcome = new Outcome();
      ${text}
      setImmediate(() => console.log('alive'));
    `);

  test('has succeeded for a caller who waits for the arrival only', () => {
    const { stdout, stderr } = run(`
      outcome.arrived.then(() => console.log('arrived'));
      outcome.arrive();
      outcome.fail(new Error('a copy may be under way'));
    `);
    expect({ stdout, stderr }).toEqual({ stdout: 'arrived\nalive\n', stderr: '' });
  });

  test('ends the process if nothing is awaited', () => {
    const { status, stderr } = run(`
      outcome.arrive();
      outcome.fail(new Error('a copy may be under way'));
    `);
    expect(status).toBe(1);
    expect(stderr).toContain('a copy may be under way');
  });
});
