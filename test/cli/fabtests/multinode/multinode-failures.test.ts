// If one rank fails, all ranks end within seconds, and the user gets the reason.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Group } from '../../../../dist/cli/fabtests/multinode/group.js';
import { Hub } from '../../../../dist/cli/fabtests/multinode/hub.js';
import { frameOf, JsonLink } from '../../../../dist/cli/shared/json-link.js';
import { casesOf, slow } from '../../../support/cases.js';
import { type Ended, type Started, start } from '../../../support/command.js';
import { freePort } from '../../../support/free-port.js';
import { hasUsedCpu, nodeVariables, startRanks } from '../../../support/ranks.js';
import { crowd, GARBAGE, stranger } from '../../../support/strangers.js';

// Not shm: a killed process may hold a lock that others then wait for.
const TCP = ['-p', 'tcp', '-s', '127.0.0.1', '-S', '4096'];
const BUSY = [...TCP, '--seconds', '600'];
const QUICK = ['-p', 'shm', '-S', '64', '--seconds', '0.1'];

/** Starts ranks of `all-to-all` with these arguments. */
async function ranks(
  numbers: readonly number[],
  size: number,
  args: readonly string[],
  port?: number,
) {
  const root = `127.0.0.1:${port ?? (await freePort())}`;
  return startRanks(numbers, (rank) => ({
    args: ['all-to-all', '--rank', String(rank), '--ranks', String(size), '--root', root, ...args],
  }));
}

async function endsOf(started: readonly Started[]): Promise<Ended[]> {
  return Promise.all(started.map(({ ended }) => ended));
}

/** Expects all to have failed without a result. The ranks in `reporting` have printed the reason. */
function expectFailures(
  ends: readonly Ended[],
  reason: string | RegExp,
  reporting: readonly number[],
) {
  for (const [i, { code, stdout, stderr }] of ends.entries()) {
    expect({ i, code, stdout }).toEqual({ i, code: 1, stdout: '' });
    if (reporting.includes(i)) expect(stderr).toMatch(reason);
    else expect({ i, stderr }).toEqual({ i, stderr: '' });
  }
}

describe('unknown clients at the port of rank 0', () => {
  const options = { ranks: 1, plan: {}, timeout: 60 };

  async function connected(port: number) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    const closed = new Promise((resolve) => socket.on('close', resolve));
    await once(socket, 'connect');
    return { socket, closed };
  }

  test('are disconnected when more connect, so that ranks can connect', async () => {
    const hub = await Hub.open({ host: '127.0.0.1', port: 0 }, options);
    const silent = [];
    for (let i = 0; i < 80; i++) silent.push(await connected(hub.root.port));
    await Promise.all(silent.slice(0, 80 - 64 - options.ranks).map(({ closed }) => closed));
    hub.end('the test has ended');
    for (const { socket } of silent) socket.destroy();
  });

  test('do not keep ranks from joining, whatever they send', async () => {
    const hub = await Hub.open({ host: '127.0.0.1', port: 0 }, { ...options, ranks: 2 });
    const { port } = hub.root;
    for (const bytes of Object.values(GARBAGE)) await stranger(port, bytes);
    const { signal } = new AbortController();
    const groups: Group[] = [];
    for (const rank of [0, 1]) {
      await crowd(port);
      const place = { rank, ranks: 2, root: hub.root };
      groups.push(await Group.join(place, { plan: {}, timeout: 60, signal }));
    }
    expect(await Promise.all(groups.map((group) => group.share(group.rank)))).toEqual([
      [0, 1],
      [0, 1],
    ]);
    await Promise.all(groups.map((group) => group.leave()));
  });

  test('are disconnected if their first message is longer than that of a rank', async () => {
    const hub = await Hub.open({ host: '127.0.0.1', port: 0 }, options);
    const { socket, closed } = await connected(hub.root.port);
    socket.write(frameOf({ type: 'hello', filling: 'x'.repeat(65_536) }));
    await closed;
    hub.end('the test has ended');
  });
});

test('a rank that gives up on rank 0 sends it the reason', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const messages: { type: string; reason?: string }[] = [];
  const connected = once(server, 'connection').then(([socket]) => {
    const link = new JsonLink<{ type: string; reason?: string }, object>(socket, {
      maxBytes: () => 65_536,
      onMessage: (message) => messages.push(message) > 0,
    });
    return link.closed;
  });
  const { signal } = new AbortController();
  const place = { rank: 1, ranks: 2, root: { host: '127.0.0.1', port } };
  const group = await Group.join(place, { plan: {}, timeout: 2, signal });
  const reason = 'rank 0 has sent nothing for 2 s';
  await expect(group.collect(null)).rejects.toThrow(reason);
  await group.leave();
  await connected;
  expect(messages.at(-1)).toEqual({ type: 'failed', reason });
});

describe('before the test starts', () => {
  test('a rank that connects twice is reported with both processes', async () => {
    const started = await ranks([0, 1, 1], 3, QUICK);
    const pids = started.slice(1).map(({ child }) => child.pid);
    const ends = await endsOf(started);
    expect(ends.map(({ code }) => code)).toEqual([1, 1, 1]);
    expect(ends[0]?.stderr).toMatch(
      /^rank 1 has connected twice: process \d+ of \S+ and process \d+ of/,
    );
    for (const pid of pids) expect(ends[0]?.stderr).toContain(`process ${pid} of`);
  });

  if (slow)
    test('ranks that do not connect are reported', async () => {
      const ends = await endsOf(await ranks([0, 2], 4, [...QUICK, '--timeout', '1']));
      expectFailures(ends, 'rank 1, 3 of 4 has not connected within 1 s\n', [0]);
    });

  test('without rank 0, each rank reports the address it tried', async () => {
    const port = await freePort();
    const ends = await endsOf(await ranks([1, 2], 3, [...QUICK, '--timeout', '0.5'], port));
    const reason = `no rank 0 at 127.0.0.1, port ${port}, within 0.5 s (ECONNREFUSED)`;
    for (const { code, stderr } of ends) {
      expect(code).toBe(1);
      expect(stderr).toContain(reason);
    }
  });

  test('a rank of another version is refused, and both versions are reported', async () => {
    const port = await freePort();
    const [root] = await ranks([0], 2, QUICK, port);
    const socket = await reach(port);
    const hello = { type: 'hello', libfabric: 'ranks', rank: 1, ranks: 2, host: 'old', pid: 1 };
    socket.write(frameOf({ ...hello, protocol: 7, plan: {} }));
    const [end] = await endsOf([root as Started]);
    expectFailures(
      [end as Ended],
      'rank 1 (old) speaks version 7 of the protocol of ranks, rank 0 version 1',
      [0],
    );
    socket.destroy();
  });

  test('different options at one rank are reported', async () => {
    const port = await freePort();
    const [first] = await ranks([0], 2, QUICK, port);
    const [second] = await ranks([1], 2, [...QUICK, '-S', '128'], port);
    const ends = await endsOf([first as Started, second as Started]);
    expectFailures(
      ends,
      /rank 1 \(.+\) was started with other options than rank 0: size is 128, not 64/,
      [0],
    );
  });

  if (slow)
    test('a different number of ranks at one rank is reported', async () => {
      const port = await freePort();
      const [first] = await ranks([0], 2, QUICK, port);
      const [second] = await ranks([1], 3, QUICK, port);
      const ends = await endsOf([first as Started, second as Started]);
      expectFailures(ends, /rank 1 \(.+\) was started as one of 3 ranks, rank 0 as one of 2/, [0]);
    });

  test('a client that connects by mistake does not disturb the ranks', async () => {
    const port = await freePort();
    const [first] = await ranks([0], 2, QUICK, port);
    for (const bytes of ['GET / HTTP/1.1\r\n\r\n', '\0\0\0\x02{}', '\0\0\0\x04null', '\0\0']) {
      const client = await reach(port);
      client.write(bytes);
      if (bytes.length > 4) await once(client, 'close');
    }
    const [second] = await ranks([1], 2, QUICK, port);
    for (const { code, stderr } of await endsOf([first as Started, second as Started])) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    }
  });

  test('a port in use is an error with a suggestion', async () => {
    const port = await freePort();
    const [first] = await ranks([0], 2, [...QUICK, '--timeout', '5'], port);
    (await reach(port)).destroy();
    const [again] = await ranks([0], 2, QUICK, port);
    const [end] = await endsOf([again as Started]);
    expect(end).toMatchObject({ code: 1 });
    expect(end?.stderr).toContain(`port ${port} is in use: choose another, with --root HOST:PORT`);
    first?.child.kill();
    expect(await first?.ended).toMatchObject({ code: 130 });
  });

  if (slow)
    test('a missing provider ends all ranks with the reason', async () => {
      const { ended } = start([
        'all-to-all',
        '--local',
        '3',
        '-p',
        'no-such-provider',
        '--seconds',
        '1',
      ]);
      const { code, stderr } = await ended;
      expect(code).toBe(1);
      expect(stderr).toContain('no endpoint with FI_MSG, FI_RMA on no-such-provider');
    });

  test('different numbers of NICs are reported', async () => {
    const root = `127.0.0.1:${await freePort()}`;
    const started = startRanks([0, 1], (rank) => ({
      args: ['pairwise', '--nics', 'all', '--rank', `${rank}`, '--ranks', '2', '--root', root],
      env: nodeVariables(rank, rank + 1),
    }));
    const ends = await endsOf(started);
    expect(ends.map(({ code }) => code)).toEqual([1, 1]);
    expect(ends[0]?.stderr).toMatch(
      /has [12] NICs on efa, rank [01] \(.+ \(node [01]\)\) [12] NICs on efa/,
    );
  });
});

describe('during the test', () => {
  test.for(casesOf(['all-to-all', 'pairwise'], (command) => command === 'all-to-all'))(
    '%s: a killed rank is reported',
    async (command) => {
      const much = command === 'pairwise' ? [...TCP, '-I', '2000000000'] : BUSY;
      const root = `127.0.0.1:${await freePort()}`;
      const started = startRanks([0, 1, 2], (rank) => ({
        args: [command, '--rank', `${rank}`, '--ranks', '3', '--root', root, ...much],
      }));
      // The first pair is 1 and 2.
      const victim = started[1] as Started;
      await hasUsedCpu(victim, 1);
      victim.child.kill('SIGKILL');
      const at = performance.now();
      const [first, killed, third] = await endsOf(started);
      expect(performance.now() - at).toBeLessThan(5000);
      expect(killed?.signal).toBe('SIGKILL');
      expectFailures(
        [first as Ended, third as Ended],
        /^rank 1 \(\S+\) has ended unexpectedly\n$/,
        [0],
      );
    },
  );

  if (slow)
    test('over shm, all ranks end, even if the killed one holds a lock', async () => {
      const busy = ['-p', 'shm', '-S', '4096', '--seconds', '600'];
      const started = await ranks([0, 1, 2], 3, busy);
      await hasUsedCpu(started[1] as Started, 1);
      started[1]?.child.kill('SIGKILL');
      const [first, , third] = await endsOf(started);
      expect(first?.stderr).toMatch(/has ended unexpectedly|is stuck in the provider/);
      expect([first?.code, third?.code]).not.toContain(0);
    });

  if (slow)
    test('the other ranks report that rank 0 was killed', async () => {
      const started = await ranks([0, 1, 2], 3, BUSY);
      await hasUsedCpu(started[1] as Started, 1);
      started[0]?.child.kill('SIGKILL');
      const [, ...others] = await endsOf(started);
      expectFailures(others, /^rank 0 has ended unexpectedly\n$/, [0, 1]);
    });

  if (slow)
    test('the others give up on a stopped rank after --timeout', async () => {
      const started = await ranks([0, 1, 2], 3, [...BUSY, '--timeout', '5']);
      const [first, second, third] = started as [Started, Started, Started];
      await hasUsedCpu(second, 1);
      second.child.kill('SIGSTOP');
      const ends = await endsOf([first, third]);
      expect(ends.map(({ code }) => code)).toEqual([1, 1]);
      expect(ends[0]?.stderr).toMatch(/rank 1|nothing has completed for 5 s with rank/);
      second.child.kill('SIGKILL');
    });

  if (slow)
    test('Ctrl-C at any rank ends all without a message', async () => {
      const started = await ranks([0, 1, 2], 3, BUSY);
      await hasUsedCpu(started[2] as Started, 1);
      started[2]?.child.kill('SIGINT');
      for (const { code, stderr, stdout } of await endsOf(started)) {
        expect({ code, stderr, stdout }).toEqual({ code: 130, stderr: '', stdout: '' });
      }
    });

  if (slow)
    test('with --local, the ranks end when their first one is killed', async () => {
      const started = start(['all-to-all', '--local', '3', ...BUSY]);
      await hasUsedCpu(started, 1);
      started.child.kill('SIGKILL');
      // 'close' also waits for the other ranks, which share its standard error.
      const { stderr } = await started.ended;
      expect(stderr).toBe('rank 0 has ended unexpectedly\n'.repeat(2));
    });
});

test.each([
  [['--local', '1'], 'It must be a whole number from 2 to 256.'],
  [['--local', '2', '--nics', 'all', '-d', 'eth0'], "cannot be used with option '-d"],
  [['--rank', '0', '--ranks', '1', '--root', 'localhost'], 'a single rank has no peer'],
  [[], 'no launcher has started this process'],
])('%j is refused with the reason', async (args, reason) => {
  const { code, stderr } = await start(['all-to-all', ...args]).ended;
  expect(code).toBe(1);
  expect(stderr).toContain(reason);
});

test('latency over several NICs is refused', async () => {
  const { code, stderr } = await start(['pairwise', '--metric', 'latency', '--nics', 'all']).ended;
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'error: --nics requires the bandwidth metric: latency is measured over one NIC\n',
  });
});

/** Connects to rank 0 as soon as it listens. */
async function reach(port: number) {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      socket.on('error', () => {}); // the connection may be reset
      return socket;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
