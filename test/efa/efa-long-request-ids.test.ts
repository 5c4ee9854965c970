import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { whyNotDirect } from '../support/direct-library.js';
import { ownNamespace } from '../support/own-namespace.js';

const namespace = ownNamespace('long-ids');
const program = fileURLToPath(new URL('../programs/long-request-ids.mjs', import.meta.url));

describe('efa-direct on a device with 64-bit ids', () => {
  beforeEach((context) => {
    const reason = whyNotDirect();
    context.skip(reason !== undefined, reason);
  });

  test.each(['1', '0'])('FI_EFA_USE_SQ_REQ_ID_64_BIT=%s: all operations complete', async (uses) => {
    const env = { ...process.env, FI_EFA_USE_SQ_REQ_ID_64_BIT: uses };
    const { stdout } = await promisify(execFile)(process.execPath, [program, namespace], {
      env,
    });
    // Only a libfabric of 2.7 that was built with rdma-core 65 asks for the capability.
    expect(
      ['FI_EFA_WQ_CAPS_64_BIT_REQ_ID', 'none'].map((caps) => `${caps}: 600 arrived\n`),
    ).toContain(stdout);
  });
});
