// A query that finds nothing, while efa endpoints that use shared memory are open: libfabric 1.17 frees their
// state.
import { describe, expect, test } from 'vitest';
import { runInline } from '../support/command.js';
import { drivers } from '../support/providers.js';
import { withSoftefa } from '../support/softefa.js';

const program = (driver: string) => `
  import { getInfo, open } from 'libfabric';
  const options = { provider: 'efa', caps: ['FI_MSG', 'FI_RMA'], driver: '${driver}' };
  const a = await open(options);
  const b = await open(options);
  const nothing = { epAttr: { type: 'FI_EP_RDM' }, txAttr: { iovLimit: 999 } };
  for (let i = 0; i < 100; i++) {
    for (const hints of [nothing, { ...nothing, fabricAttr: { provName: 'efa' } }]) {
      if (getInfo(hints).some(({ fabricAttr }) => fabricAttr.provName === 'efa')) throw new Error('found');
    }
    if (options.driver === 'manual') a.domain.progress();
    await new Promise(setImmediate);
  }
  const c = await open(options);
  const received = a.recv(new Uint8Array(8));
  const sent = c.send(new Uint8Array(8), c.av.insert(a.address));
  let settled = false;
  const both = Promise.all([received, sent]).then(() => { settled = true; });
  while (!settled) {
    if (options.driver === 'manual') for (const { domain } of [a, c]) domain.progress();
    await new Promise(setImmediate);
  }
  await both;
  console.log('done');
  await Promise.all([a, b, c].map((ep) => ep.close({ timeout: 100 })));`;

describe.each(drivers)('%s driver', (driver) => {
  test('a query that finds nothing does not affect open endpoints of efa', () => {
    const env = { ...withSoftefa(), FI_EFA_ENABLE_SHM_TRANSFER: '1' };
    const { status, stdout, stderr } = runInline(program(driver), env);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'done\n', stderr: '' });
  });
});
