import { version } from 'libfabric';
import { softefaEnvironment } from 'libfabric/softefa';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../../../support/cases.js';
import { ownNamespace } from '../../../support/own-namespace.js';
import { sides } from '../../../support/sides.js';

const efa = {
  ...process.env,
  ...softefaEnvironment({ namespace: ownNamespace('checks'), memlock: 'unlimited' }),
  FI_EFA_ENABLE_SHM_TRANSFER: '0',
};

/** The lines with figures, which differ from run to run. */
const FIGURES = /^(name|bytes) .*\n|^FI_\w+_lat .*\n|^\d.*s .*\n/gm;
const PID = /PID \d+/g;

interface Expected {
  /** The lines of fabtests. */
  readonly server: string;
  readonly client: string;
}

const CASES: readonly (readonly [string, readonly string[], Expected])[] = [
  [
    'rdm',
    ['-U'],
    {
      server:
        'Waiting for message from client...\nData check OK\nReceived data from client: Hello from Client!\n' +
        'rdm: passed: a message of 19 bytes arrived as it was sent.\n',
      client:
        'Sending message...\nSend completion received\nrdm: passed: a message of 19 bytes was sent.\n',
    },
  ],
  [
    'multi-recv',
    ['-I', '200', '-S', '1000', '-v'],
    {
      server:
        'multi-recv: passed: 200 messages of 1000 bytes arrived as they were sent in buffers of 64 messages, ' +
        'of which 3 were filled and posted again.\n',
      client: 'multi-recv: passed: 200 messages of 1000 bytes were sent.\n',
    },
  ],
  [
    'rdm-atomic',
    ['-I', '3', '-o', 'sum', '-z', 'uint64', '-v'],
    {
      server:
        'rdm-atomic: passed: 1 pairs of operation and type, 3 times each, came to the right results.\n',
      client:
        'rdm-atomic: passed: 1 pairs of operation and type, 3 times each, came to the right results.\n',
    },
  ],
  [
    'recv-cancel',
    ['-V'],
    {
      server:
        'GOOD: detected error cq entry\nGOOD: Completed uncancelled recv\n' +
        'GOOD: Completed reposted cancelled recv\nGOOD: Completed Recv Cancel Test\n' +
        'recv-cancel: passed: a cancelled receive ended with FI_ECANCELED and took no message, and those around it took theirs.\n',
      client:
        'STANDARD msg posted to server\nCANCEL msg posted to server\n' +
        'recv-cancel: passed: messages went to a receive that was cancelled, and to one that was not.\n',
    },
  ],
  [
    'unexpected-msg',
    ['-I', '101', '-M', '7', '-S', '300', '-v'],
    both(
      'PID 1 GOOD iter 0/101 completed\nPID 1 GOOD iter 100/101 completed\nPID 1 GOOD all done\n' +
        'unexpected-msg: passed: 101 times 7 messages of 300 bytes arrived before their receives, ' +
        'and each matched its own as they were sent.\n',
    ),
  ],
  [
    'av-xfer',
    [],
    both(
      'AV address removal: PASS\nAV re-insertion address: PASS\n' +
        'av-xfer: passed: messages arrived in both directions after the address of the peer was removed and inserted again.\n',
    ),
  ],
  [
    'multi-ep',
    ['-c', '5', '-v'],
    both(
      'Creating 5 EPs\nSend to all 5 remote EPs\nWait for all messages from peer\nData check OK\nPASSED multi ep\n' +
        'multi-ep: passed: each of 5 endpoints of one domain has had a message of 256 bytes from its partner, as it was sent.\n',
    ),
  ],
  [
    'rdm-multi-client',
    ['-I', '20', '-C', '3'],
    {
      server: `${'Start ping-pong.\nPing-pong succeeds.\n'.repeat(3)}rdm-multi-client: passed: 3 clients had a ping-pong of 20 messages with one server.\n`,
      client: `${[0, 1, 2].map((i) => `Starting client: ${i}\nStart ping-pong.\nPing-pong succeeds.\n`).join('')}rdm-multi-client: passed: 3 clients had a ping-pong of 20 messages with one server.\n`,
    },
  ],
];

function both(text: string): Expected {
  return { server: text, client: text };
}

// Over tcp the sides find out the peer's release of fabtests, which takes 0.3 s. Over the others they are given it.
const { major, minor } = version();
const place = (provider: string) =>
  provider === 'tcp' ? ['-p', provider] : ['-p', provider, '--fabtests', `${major}.${minor}`];

const texts = (text: string) =>
  text.replaceAll(FIGURES, '').replaceAll(PID, 'PID 1').replace(' (efa itself has kept it)', '');

const PROVIDERS = casesOf(
  [
    { provider: 'tcp', env: process.env },
    { provider: 'shm', env: process.env },
    { provider: 'efa', env: efa },
  ],
  ({ provider }) => provider === 'efa',
);

describe.each(PROVIDERS)('over $provider', ({ provider, env }) => {
  test.each(CASES)('%s passes and prints its result', async (command, args, expected) => {
    const { server, client } = await sides(command, [...place(provider), ...args], env);
    expect(server.stderr + client.stderr).toBe('');
    expect({ server: texts(server.stdout), client: texts(client.stdout) }).toEqual(expected);
    expect([server.code, client.code]).toEqual([0, 0]);
  });

  test.each(['senddata', 'writedata'])('cq-data with %s transfers the data', async (operation) => {
    const { server, client } = await sides('cq-data', [...place(provider), '-o', operation], env);
    expect([server.code, client.code]).toEqual([0, 0]);
    const bytes = provider === 'efa' ? 4 : 8;
    const data = 0x0123456789abcdefn & ((1n << BigInt(bytes * 8)) - 1n);
    expect(client.stdout).toContain(`with CQ data: 0x${data.toString(16)}\nDone\n`);
    expect(server.stdout).toContain('remote_cq_data: success\n');
    expect(server.stdout).toContain(`passed: ${bytes} bytes of remote CQ data arrived`);
  });

  test.each(['', '-A inject', '-A inj_complete'])(
    'inject %s: the buffer can be reused in time',
    async (options) => {
      const flag = options === '' ? [] : options.split(' ');
      const args = [...place(provider), '-I', '50', '-S', '1000', '-v', ...flag];
      const { server, client } = await sides('inject', args, env);
      expect(server.stderr + client.stderr).toBe('');
      expect([server.code, client.code]).toEqual([0, 0]);
      expect(server.stdout).toMatch(
        /a message of [1-9]\d* bytes, 50 times, arrived as they were sent/,
      );
    },
  );

  test('all atomic operations of the provider have the right results', async () => {
    const { server, client } = await sides(
      'rdm-atomic',
      [...place(provider), '-I', '4', '-v'],
      env,
    );
    expect([server.code, client.code]).toEqual([0, 0]);
    for (const { stdout } of [server, client]) {
      expect(stdout).toMatch(/\d{2,} pairs of operation and type, 4 times each, came to the right/);
    }
    expect(client.stdout).toMatch(/^name {46}bytes {3}iters/m);
    expect(client.stdout).toMatch(/^FI_INT32_FI_CSWAP_compare_lat +4 +4 +16 /m);
  });

  test('rdm-tagged-peek finds, claims and discards', async (context) => {
    if (provider === 'shm' && major === 1 && minor < 19)
      context.skip('the provider does not support FI_PEEK');
    const { server, client } = await sides('rdm-tagged-peek', place(provider), env);
    expect(server.stderr + client.stderr).toBe('');
    expect([server.code, client.code]).toEqual([0, 0]);
    expect(client.stdout).toContain('Checking to see if third msg was discarded\n');
    expect(client.stdout).toContain('passed: messages were found by FI_PEEK');
  });
});

describe.each([
  { provider: 'udp', env: process.env },
  { provider: 'efa', env: efa },
])('datagrams over $provider', ({ provider, env }) => {
  test('dgram: a datagram arrives', async () => {
    const { server, client } = await sides('dgram', place(provider), env);
    expect([server.code, client.code]).toEqual([0, 0]);
    expect(server.stdout).toContain('Received data from client: Hello from Client!\n');
  });
});
