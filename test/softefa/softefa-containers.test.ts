// softefa in containers that share /dev/shm.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { softefaEnvironment } from 'libfabric/softefa';
import { expect, test } from 'vitest';
import { slow } from '../support/cases.js';
import { CONTAINER, skipWithout } from '../support/containers.js';
import { ownNamespace } from '../support/own-namespace.js';
import { fiPingpong, notInstalled, rowsOf, sizesUpTo } from '../support/pingpong.js';
import { startPair, transferAll } from '../support/process-pair.js';

skipWithout(CONTAINER, 'create a PID namespace');

const leftovers = (namespace: string) =>
  readdirSync('/dev/shm').filter((name) => name.endsWith(`.${namespace}`));

test.each([true, false])(
  'two containers exchange messages and RMA, asynchronous: %s',
  async (asynchronous) => {
    const namespace = ownNamespace('containers');
    const options = { namespace, asynchronous, launcher: CONTAINER };
    const [a, b] = await startPair({ ...options, node: 0 }, { ...options, node: 1 });
    await transferAll(a, b);
    await a.close();
    await b.close();
    expect(leftovers(namespace)).toEqual([]);
  },
);

test('a container and its host exchange messages and RMA', async () => {
  const namespace = ownNamespace('containers');
  const [a, b] = await startPair(
    { namespace, node: 0, launcher: CONTAINER },
    { namespace, node: 1 },
  );
  await transferAll(a, b);
  await a.close();
  await b.close();
});

if (slow)
  test('fi_pingpong transfers every size between containers, with a message why it is slow', async (context) => {
    context.skip(notInstalled !== undefined, notInstalled);
    const namespace = ownNamespace('containers');
    const { server, client } = await fiPingpong(
      ['-p', 'efa', '-e', 'rdm', '-S', 'all', '-c', '-I', '1'],
      { server: { namespace }, client: { namespace, node: 1 } },
      { FI_EFA_ENABLE_SHM_TRANSFER: '0' },
      CONTAINER,
    );
    for (const side of [server, client]) {
      expect(side).toMatchObject({ status: 0, signal: null });
      expect(side.stderr).toMatch(/^softefa: a peer is in another PID namespace/);
      expect(rowsOf(side).map(({ bytes }) => bytes)).toEqual(sizesUpTo(6 << 20));
    }
  });

// Like two suites on one CI host: each runs in its own container and namespace, and kills processes.
test('two suites that kill their processes do not disturb each other', async () => {
  const namespaces = [ownNamespace('suite'), ownNamespace('suite')];
  const outcomes = namespaces.map(async (namespace) => {
    const [command, ...args] = CONTAINER as [string, ...string[]];
    const suite = new URL('../programs/container-suite.mjs', import.meta.url).pathname;
    const child = spawn(command, [...args, process.execPath, suite], {
      env: {
        ...process.env,
        FI_EFA_ENABLE_SHM_TRANSFER: '0',
        ...softefaEnvironment({ namespace, memlock: 'unlimited' }),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await Promise.race([
      once(createInterface(child.stdout!), 'line'),
      once(child, 'close'),
    ]);
    if (child.exitCode === null) await once(child, 'close');
    return line;
  });
  expect(await Promise.all(outcomes)).toEqual(['passed', 'passed']);
  expect(namespaces.flatMap(leftovers)).toEqual([]);
});
