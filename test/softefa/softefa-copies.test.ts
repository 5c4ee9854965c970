// Softefa without permission to read another process's memory: a container's seccomp profile or Yama forbids
// it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { BUILD_LIMIT_MS, build, withoutProcessVm } from '../support/native-tests.js';
import { ownNamespace } from '../support/own-namespace.js';
import { fiPingpong, notInstalled, rowsOf, sendsPrefix, sizesUpTo } from '../support/pingpong.js';
import { startPair, transferAll } from '../support/process-pair.js';

const YAMA = '/proc/sys/kernel/yama/ptrace_scope';
const FORBIDDEN = /^softefa: process_vm_readv of process \d+: Operation not permitted/;
const namespace = ownNamespace('copies');

describe('efa without process_vm_readv', () => {
  beforeAll(() => build('plain'), BUILD_LIMIT_MS);

  test.for(
    casesOf(
      [
        ['rdm', 6 << 20],
        ['dgram', 8 << 10],
      ] as const,
      ([type]) => type === 'rdm',
    ),
  )(
    'fi_pingpong -e %s transfers every size intact, with a message why it is slow',
    async ([type, largest], context) => {
      context.skip(notInstalled !== undefined, notInstalled);
      context.skip(type === 'rdm' && sendsPrefix !== undefined, sendsPrefix);
      const args = ['-p', 'efa', '-e', type, '-S', 'all', '-c', '-I', '1'];
      const variables = { FI_EFA_ENABLE_SHM_TRANSFER: '0' };
      const devices = { server: { namespace }, client: { namespace, node: 1 } };
      const ended = await fiPingpong(args, devices, variables, [withoutProcessVm]);
      for (const side of [ended.server, ended.client]) {
        expect(side).toMatchObject({ status: 0, signal: null });
        expect(rowsOf(side).map(({ bytes }) => bytes)).toEqual(sizesUpTo(largest));
        if (type === 'rdm') expect(side.stderr).toMatch(FORBIDDEN);
      }
    },
  );

  test.for(casesOf([true, false], (each) => each))(
    'RMA and messages, asynchronous: %s',
    async (asynchronous) => {
      const options = { asynchronous, launcher: [withoutProcessVm] };
      const [a, b] = await startPair({ ...options, node: 0 }, { ...options, node: 1 });
      await transferAll(a, b);
      await a.close();
      await b.close();
    },
  );
});

test('efa transfers data with ptrace_scope 1', async (context) => {
  if (!existsSync(YAMA)) return context.skip('no Yama in this kernel');
  const before = readFileSync(YAMA, 'latin1');
  try {
    if (before.trim() === '0') writeFileSync(YAMA, '1');
  } catch {
    return context.skip('ptrace_scope is 0 and may not be changed');
  }
  try {
    const [a, b] = await startPair({ node: 0 }, { node: 1 });
    await transferAll(a, b);
    await a.close();
    await b.close();
  } finally {
    if (before.trim() === '0') writeFileSync(YAMA, before);
  }
});
