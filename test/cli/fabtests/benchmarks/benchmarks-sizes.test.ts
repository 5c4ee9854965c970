// Benchmarks whose sizes cannot be measured: they are too long, or the sides measure different ones.
import { describe, expect, test } from 'vitest';
import { start } from '../../../support/command.js';
import { freePort } from '../../../support/free-port.js';

test.each([
  ['a server', ['dgram-pingpong', '-p', 'udp', '-S', '100000']],
  ['a client', ['dgram-pingpong', '-p', 'udp', '-S', '100000', '127.0.0.1']],
])(
  '%s refuses a size that the provider does not carry, before it waits for the other',
  async (_, args) => {
    const { code, stderr } = await start(args).ended;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        '-S: 100000 bytes are too many: a transfer of udp has at most 1472 bytes (maxMsgSize)\n',
    });
  },
);

test('a size beyond the memory of the machine is refused', async () => {
  const { code, stderr } = await start(['rma-bw', '-p', 'shm', '-S', '99999999999999']).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^-S: \d+ bytes are too many: the memory of this machine has \d+ bytes\n$/,
  );
});

describe.each(['rdm-pingpong', 'rdm-bw', 'rma-bw', 'rma-pingpong'])('%s', (command) => {
  test.each([
    ['64', '4096'],
    ['4096', '64'],
    ['64', 'l:64,128'],
  ])('sizes %s and %s: both sides fail and say why', async (ofServer, ofClient) => {
    const args = [command, '-p', 'tcp', `-E=${await freePort()}`, '-I', '100'];
    const both = [start([...args, '-S', ofServer]), start([...args, '-S', ofClient, '127.0.0.1'])];
    for (const { code, stderr } of await Promise.all(both.map(({ ended }) => ended))) {
      expect(stderr).toContain('and the peer other sizes; give both the same -S');
      expect(code).toBe(1);
    }
  });
});
