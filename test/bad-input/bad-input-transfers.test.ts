import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { HANG_MS } from '../support/limits.js';

const program = fileURLToPath(new URL('../programs/bad-input-transfers.mjs', import.meta.url));

test.each(casesOf([true, false], (isMapped) => isMapped))(
  'no parameter of a transfer is trusted natively, and a grant cannot be changed (mapped: %s)',
  async (isMapped) => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, String(isMapped)], {
      timeout: HANG_MS,
      killSignal: 'SIGKILL',
      maxBuffer: 1 << 24,
    });
    const { outcomes, isWritten, isFrozen } = JSON.parse(stdout);
    expect(Object.keys(outcomes).length).toBeGreaterThan(500);
    expect(Object.values(outcomes)).not.toContain('thrown');
    for (const [name, outcome] of Object.entries(outcomes)) {
      if (/^(grant\.(pieces|targets)|order\.memories) /.test(name)) {
        expect([name, outcome]).toEqual([name, 'refused']);
      }
    }
    expect(outcomes.long).toBe('refused');
    expect({ isWritten, isFrozen }).toEqual({ isWritten: true, isFrozen: true });
  },
);
