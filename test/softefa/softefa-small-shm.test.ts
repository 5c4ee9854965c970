// Softefa with a small /dev/shm, as in a container, or with a full one.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, type TestContext, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { BUILD_LIMIT_MS, build, LIMIT_MS, runTests } from '../support/native-tests.js';
import { ownNamespace } from '../support/own-namespace.js';
import {
  fiInfoUnder,
  fiPingpong,
  notInstalled,
  rowsOf,
  sendsPrefix,
  sizesUpTo,
} from '../support/pingpong.js';
import { startPair, transferAll } from '../support/process-pair.js';

const namespace = ownNamespace('small');
const holders: ChildProcess[] = [];

afterEach(() => {
  for (const holder of holders.splice(0)) holder.stdin?.end();
});

/** Returns a command that runs another one with a /dev/shm of this size. Skips the test if mounting fails. */
async function withShm(context: TestContext, size: string): Promise<readonly string[]> {
  const script = `mount -t tmpfs -o size=${size} softefa /dev/shm && echo ready && exec cat`;
  const holder = spawn('unshare', ['-m', 'sh', '-c', script], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  holders.push(holder);
  holder.on('error', () => {}); // unshare is not installed
  const [line] = await Promise.race([
    once(createInterface(holder.stdout), 'line') as Promise<string[]>,
    once(holder, 'close').then(() => []),
  ]);
  context.skip(line !== 'ready', 'no permission to mount, or no unshare');
  return ['nsenter', '-t', String(holder.pid), '-m', '--'];
}

describe('efa with 64 MB of /dev/shm', () => {
  test.for(['0', '1'])('fi_pingpong, FI_EFA_ENABLE_SHM_TRANSFER=%s', async (shm, context) => {
    context.skip(notInstalled !== undefined, notInstalled);
    context.skip(sendsPrefix !== undefined, sendsPrefix);
    const launcher = await withShm(context, '64m');
    const args = ['-p', 'efa', '-e', 'rdm', '-S', 'all', '-c', '-I', '1'];
    const variables = { FI_EFA_ENABLE_SHM_TRANSFER: shm };
    const devices = { server: { namespace, nics: 4 }, client: { namespace, nics: 4 } };
    const ended = await fiPingpong(args, devices, variables, launcher);
    for (const side of [ended.server, ended.client]) {
      expect(side).toMatchObject({ status: 0, signal: null, stderr: '' });
      expect(rowsOf(side).map(({ bytes }) => bytes)).toEqual(sizesUpTo(6 << 20));
    }
  });

  test('processes with several devices transfer data', async (context) => {
    const launcher = await withShm(context, '64m');
    const options = { launcher, nics: 4 };
    const [a, b] = await startPair({ ...options, node: 0 }, { ...options, node: 1 });
    await transferAll(a, b);
    await a.close();
    await b.close();
  });

  test.for(casesOf(['all verbs tests'], () => false))(
    '%s pass',
    {
      timeout: BUILD_LIMIT_MS + LIMIT_MS,
    },
    async (_, context) => {
      const launcher = await withShm(context, '64m');
      await build('plain');
      const { ok, output } = await runTests('plain', 'asynchronous', [], launcher);
      expect(ok, output.replace(/^ok .*\n/gm, '')).toBe(true);
    },
  );
});

test.for(['16k', '200k'])(
  'efa with %s of /dev/shm reports that there is no space',
  async (size, context) => {
    context.skip(notInstalled !== undefined, notInstalled);
    const launcher = await withShm(context, size);
    const { status, stderr } = fiInfoUnder(launcher, { namespace }, '-p', 'efa');
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/^softefa: no devices: .*(No space left|Cannot allocate memory)/);
  },
);

test('efa with a missing folder reports its path', (context) => {
  context.skip(notInstalled !== undefined, notInstalled);
  const { status, stderr } = fiInfoUnder([], { directory: '/no/such/folder' }, '-p', 'efa');
  expect(status).not.toBe(0);
  expect(stderr).toMatch(/^softefa: no devices: \/no\/such\/folder\/softefa-.*: No such file/);
});
