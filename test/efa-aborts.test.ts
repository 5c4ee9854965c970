// Where the efa provider (1.17) ends the process: it does so by abort(3), after some lines on stderr,
// where something fails that no operation of the caller's waits for.
import { version } from 'libfabric';
import type { SoftefaOptions } from 'libfabric/softefa';
import { beforeEach, expect, test } from 'vitest';
import { runInline } from './support/inline.js';
import { withSoftefa } from './support/softefa.js';

beforeEach((context) => context.skip(version().major > 1, 'what 1.17 does'));

const PRELUDE = `
  import { open } from 'libfabric';
  import { SoftefaFaults } from 'libfabric/softefa';
  import { setTimeout as passed } from 'node:timers/promises';
  const faults = new SoftefaFaults();
  const a = await open({ provider: 'efa', driver: process.env.DRIVER });
  const b = await open({ provider: 'efa', driver: process.env.DRIVER });
  const toB = a.av.insert(b.address);
  const message = () => new Uint8Array(64);`;

interface Case {
  readonly name: string;
  readonly body: string;
  readonly driver?: 'manual';
  readonly device?: SoftefaOptions;
  readonly variables?: NodeJS.ProcessEnv;
  /** One of what it may say. */
  readonly reasons: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: 'a peer is gone before it could be greeted back',
    body: `
      faults.set({ delay: 50_000 });
      const received = b.recv(message());
      const sent = a.send(message(), toB);
      await received; // b's greeting is on its way from here on
      faults.add('kill');
      await sent;
      await passed(10_000);`,
    reasons: ['Unresponsive receiver'],
  },
  {
    name: 'a completion queue overruns while messages arrive',
    body: `
      for (let i = 0; i < 10; i++) b.recv(message());
      while (b.domain.stats().operations < 10) b.domain.progress(); // it has buffers now
      let sent = false;
      const sends = Array.from({ length: 10 }, () => a.send(message(), toB));
      Promise.all(sends).then(() => { sent = true; });
      const turn = async (domain) => { domain.progress(); await passed(); };
      while (!sent) await turn(a.domain);
      faults.add('cqOverrun', { count: 1 });
      for (;;) await turn(b.domain);`,
    driver: 'manual',
    reasons: ['Failure to post handshake to peer', 'Failure to post internal receive buffers'],
  },
  {
    name: 'less memory may be locked than its receive buffers take',
    body: 'await passed(10_000);',
    device: { memlock: 1 << 20 },
    reasons: ['Failure to post internal receive buffers'],
  },
  {
    name: 'more messages overtake one than its receive window holds',
    body: `
      faults.set({ reorder: 100_000 });
      const all = Array.from({ length: 500 }, () => [b.recv(message()), a.send(message(), toB)]);
      await Promise.all(all.flat());`,
    variables: { FI_EFA_RECVWIN_SIZE: '16' },
    reasons: ['receive window size (16) is too small'],
  },
];

test.each(cases)(
  'efa aborts where $name',
  ({ body, driver = 'thread', device, variables, reasons }) => {
    const namespace = `aborts-${process.pid}`;
    const env = { ...withSoftefa({ namespace, ...device }), ...variables, DRIVER: driver };
    const { signal, stderr } = runInline(PRELUDE + body, env);
    expect(
      reasons.filter((reason) => stderr.includes(reason)),
      stderr,
    ).toHaveLength(1);
    expect(signal).toBe('SIGABRT');
  },
);
