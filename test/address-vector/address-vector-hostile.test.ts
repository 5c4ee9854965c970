import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { getInfo } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { HANG_MS } from '../support/limits.js';

const program = fileURLToPath(new URL('../programs/bad-input-addresses.mjs', import.meta.url));

const endpoints = [
  ['shm', 'FI_EP_RDM'],
  ['tcp', 'FI_EP_RDM'],
  ['udp', 'FI_EP_DGRAM'],
  ['sockets', 'FI_EP_RDM'],
] as const;

describe.each(endpoints)('arbitrary addresses, %s', (provider, type) => {
  const available = getInfo({ fabricAttr: { provName: provider }, epAttr: { type } }).length > 0;

  describe.each(['random', 'near'])('%s bytes, lengths 0 to 300', (mode) => {
    test.skipIf(!available).each([1, 2])(
      'insert() returns a peer or throws, seed %d',
      async (seed) => {
        const { stdout } = await promisify(execFile)(
          process.execPath,
          [program, provider, type, mode, String(seed)],
          { timeout: HANG_MS, killSignal: 'SIGKILL' },
        );
        const { tally, got } = JSON.parse(stdout);
        const times = Object.values(tally as Record<string, number>);
        expect(times.reduce((sum, count) => sum + count, 0)).toBe(602);
        expect(got).toEqual([1, 2, 3, 4]);
      },
    );
  });
});
