// Wrong usage of `libfabric transfer` exits with 2, and the message names the error.
import { describe, expect, test } from 'vitest';
import { allSizes } from '../../../dist/cli/fabtests/common/sizes.js';
import { bytesArgument } from '../../../dist/cli/shared/byte-count.js';
import { nics, transferSizes } from '../../../dist/cli/transfer/options.js';
import { iterationsOf, problemOf } from '../../../dist/cli/transfer/plan.js';
import { call } from '../../support/call.js';

test.each([
  [['--size', '0'], /'0' is invalid\. It must be from 1 to 1024G bytes/],
  [['--size', '64X'], /'64X' is invalid/],
  [['--size', '1M,2M'], /'1M,2M' is invalid\. several sizes begin with l: l:1M,2M/],
  [['--size', 'l:1M,,2M'], /'l:1M,,2M' is invalid/],
  [['--size', 'l:0,1M'], /It must be from 1 to 1024G bytes/],
  [['--size', 'r:1,1,101'], /at most 100 sizes/],
  [['--size', '-1'], /'-1' is invalid/],
  [['--size', '2048G'], /'2048G' is invalid/],
  [['--size'], /argument missing/],
  [['--size', '4K', '--pages', '3000'], /4096 bytes are not a whole number of pages of 3000/],
  [['--size', '4G', '--pages', '4K'], /1048576 pages, and a transfer has at most 262144/],
  [['--pages', '2G'], /It must be from 1 to 1G bytes/],
  [['--nics', '0'], /from 1 to 64/],
  [['--nics', ','], /It must be all, a number, or names of NICs/],
  [['-p', 'tcp', '--nics', 'no-such-nic'], /--nics: no NIC no-such-nic; there are .*\blo\b/],
  [['--slice', '1'], /from 4K to 1G bytes/],
  [['--window', '5G'], /from 4K to 4G bytes/],
  [['--stall', '0'], /from 1 to/],
  [['-I', '0'], /from 1 to/],
  [['-E=99999'], /from 1 to 65535/],
  [['--no-such-option'], /unknown option '--no-such-option'/],
  [['one-host', 'another'], /too many arguments/],
])('%j', async (args, message) => {
  const { status, stdout, stderr } = await call('transfer', ...args);
  expect(stderr).toMatch(message);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
});

test('a provider that does not exist is a failure, not wrong usage', async () => {
  const { status, stderr } = await call('transfer', '-p', 'no-such-provider');
  expect(stderr).toMatch(/^FI_ENODATA: .* on no-such-provider/);
  expect(status).toBe(1);
});

describe('options', () => {
  test('bytes have units of 1024', () => {
    const read = bytesArgument(1, 2 ** 40);
    expect(['1', '64k', '64K', '3M', '1G'].map(read)).toEqual([
      1,
      65_536,
      65_536,
      3 * 2 ** 20,
      2 ** 30,
    ]);
  });

  test('sizes have the forms of the benchmarks', () => {
    expect(transferSizes('64M')).toEqual([2 ** 26]);
    expect(transferSizes('l:1M,2M')).toEqual([2 ** 20, 2 ** 21]);
    expect(transferSizes('r:64,64,256')).toEqual([64, 128, 192, 256]);
    expect(transferSizes('all')).toEqual(allSizes());
  });

  test('NICs are all, a number or names', () => {
    expect(['all', '4', 'a,b'].map(nics)).toEqual(['all', 4, ['a', 'b']]);
  });

  test('pages must divide every size', () => {
    expect(problemOf({ sizes: [8192, 4096], pages: 4096 })).toBeUndefined();
    expect(problemOf({ sizes: [8192, 4097], pages: 4096 })).toContain('4097');
    expect(problemOf({ sizes: [2 ** 30], pages: 4096 })).toBeUndefined();
  });

  test('small sizes have more iterations, unless -I says otherwise', () => {
    const plan = { operation: 'write', sizes: [1], warmUp: 1, verify: false } as const;
    expect([1, 2 ** 20, 2 ** 28, 2 ** 32].map((size) => iterationsOf(plan, size))).toEqual([
      1000, 1000, 10, 10,
    ]);
    expect(iterationsOf({ ...plan, iterations: 3 }, 1)).toBe(3);
  });
});
