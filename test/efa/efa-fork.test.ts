// Processes with efa endpoints start other processes: libuv calls fork() for child_process.
import type { SoftefaOptions } from 'libfabric/softefa';
import { expect, test } from 'vitest';
import { runInline } from '../support/command.js';
import { ownNamespace } from '../support/own-namespace.js';
import { withSoftefa } from '../support/softefa.js';

const PROGRAM = `
  import { execFileSync } from 'node:child_process';
  import { open } from 'libfabric';
  const ep = await open({ provider: 'efa' });
  const self = ep.av.insert(ep.address);
  const exchangeMessage = () => Promise.all([ep.recv(new Uint8Array(8)), ep.send(new Uint8Array(8), self)]);
  await exchangeMessage();
  // libuv 1.53 calls fork() only if posix_spawn(3) lacks an option, such as another user.
  const uid = process.getuid();
  console.log(execFileSync('echo', ['child'], { encoding: 'utf8', uid }).trim());
  await exchangeMessage();
  await ep.close();`;

const run = (
  forkStatus: NonNullable<SoftefaOptions['forkStatus']>,
  variables: NodeJS.ProcessEnv = {},
) =>
  runInline(PROGRAM, {
    ...withSoftefa({ namespace: ownNamespace('fork'), forkStatus }),
    ...variables,
  });

test.each(['disabled', 'enabled', 'unneeded'] as const)(
  'efa endpoints survive a fork if fork support is %s: the package enables it',
  (forkStatus) => {
    expect(run(forkStatus)).toMatchObject({ status: 0, signal: null, stdout: 'child\n' });
  },
);

test('efa aborts at a fork if FI_EFA_FORK_SAFE=0 keeps fork support disabled', () => {
  expect(run('disabled', { FI_EFA_FORK_SAFE: '0' })).toMatchObject({
    signal: 'SIGABRT',
    stdout: '',
    stderr: expect.stringContaining('FI_EFA_FORK_SAFE=1'),
  });
});
