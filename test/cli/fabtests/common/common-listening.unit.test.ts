// The address that a client selects for its server's name, and the text that a server prints.
import { expect, test } from 'vitest';
import { announcement } from '../../../../dist/cli/fabtests/common/listening.js';
import { addTestOptions, TestCommand } from '../../../../dist/cli/fabtests/common/options.js';
import { resolveHost } from '../../../../dist/cli/fabtests/common/resolve-host.js';
import { clientArguments } from '../../../../dist/cli/fabtests/common/written-arguments.js';

const BOTH = [
  { address: '::1', family: 6 },
  { address: '127.0.0.1', family: 4 },
];
const NONE = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });

const inBand = { oobExchange: false, provider: 'tcp', host: 'localhost' } as const;

test('a client selects the first IPv4 address of a name', async () => {
  const resolved = await resolveHost(inBand, async () => BOTH);
  expect(resolved).toEqual({ ...inBand, hostAddress: '127.0.0.1' });
});

test('a client selects an IPv6 address if a name has no others', async () => {
  expect(await resolveHost(inBand, async () => BOTH.slice(0, 1))).toMatchObject({
    hostAddress: '::1',
  });
});

test('with -F fi_sockaddr_in6, a client requests only IPv6 addresses', async () => {
  const families: number[] = [];
  await resolveHost({ ...inBand, addrFormat: 'FI_SOCKADDR_IN6' }, async (_, family) => {
    families.push(family);
    return BOTH.slice(0, 1);
  });
  expect(families).toEqual([6]);
});

test('with a local address of IPv6 too', async () => {
  const families: number[] = [];
  await resolveHost({ ...inBand, sourceAddress: '::1' }, async (name, family) => {
    families.push(family);
    return name === '::1' ? BOTH.slice(0, 1) : BOTH;
  });
  expect(families).toEqual([0, 6]);
});

test('the name of a local address is checked on both sides', async () => {
  const { host: _, ...server } = inBand;
  const failing = resolveHost({ ...server, sourceAddress: 'nowhere' }, () => Promise.reject(NONE));
  await expect(failing).rejects.toThrow('the host name nowhere cannot be resolved (ENOTFOUND)');
});

test('a name that cannot be resolved is reported with the reason', async () => {
  const failing = resolveHost(inBand, () => Promise.reject(NONE));
  await expect(failing).rejects.toThrow('the host name localhost cannot be resolved (ENOTFOUND)');
});

test.each([
  ['a server', { ...inBand, host: undefined }],
  ['an address of shm', { ...inBand, provider: 'shm', host: 'fi_shm://1' }],
  ['the name of an endpoint of efa', { ...inBand, provider: 'efa' }],
  ['a server that -O replaces', { ...inBand, oobExchange: true, oobAddress: '10.0.0.2' }],
])('%s is not resolved', async (_, settings) => {
  const { host, ...rest } = settings;
  const given = { ...rest, ...(host !== undefined && { host }) };
  expect(await resolveHost(given, () => Promise.reject(NONE))).toEqual(given);
});

const options = addTestOptions(new TestCommand('test')).options;

test.each([
  [[], []],
  [
    ['-p', 'tcp', '-s', '10.0.0.2', '-S', '64'],
    ['-p', 'tcp', '-S', '64'],
  ],
  [['-B', '7000', '--source=10.0.0.2', '-v'], ['-v']],
  [['-B7000', '-P', '7001', '--pin-core', '2', '--json'], ['--json']],
  [['--source-port=7000', '--port', '7001'], []],
  [
    ['-vlB7000', '-I100', '-pshm'],
    ['-v', '-l', '-I100', '-pshm'],
  ],
  [
    ['-vB', '7000', '-E=9000', '-b'],
    ['-v', '-E=9000', '-b'],
  ],
  [
    ['--label', '-s', '-x', '--', '-s', 'a'],
    ['--label', '-s', '-x', '--', '-s', 'a'],
  ],
])('the client of a server with %j gets %j', (server, client) => {
  expect(clientArguments(server, options)).toEqual(client);
});

const server = (argv: readonly string[], more: object = {}) => ({
  ...{ command: 'rdm-bw', clientArgv: argv, oobExchange: true },
  ...more,
});

test.each([
  ['efa', undefined, 'every address of here', 'here'],
  ['tcp', '0.0.0.0', 'every address of here', 'here'],
  ['tcp', '10.0.0.2', '10.0.0.2', '10.0.0.2'],
  ['shm', undefined, 'every address of here', 'localhost'],
  ['shm', '10.0.0.2', '10.0.0.2', '10.0.0.2'],
])('a server on %s at %s prints %s', (provider, address, place, host) => {
  const settings = server(['-p', provider], { provider });
  expect(announcement(settings, { address, port: 'TCP port 3000' }, 'here')).toBe(
    `Listening on ${place}, TCP port 3000. The client's command:\n  npx libfabric rdm-bw -p ${provider} ${host}\n`,
  );
});

test('words with characters of the shell are quoted', () => {
  const settings = server(['-p', 'tcp;ofi_rxm', '--label', "it's"]);
  const place = { address: '10.0.0.2', port: 'tcp port 9228' };
  expect(announcement(settings, place)).toContain(
    "rdm-bw -p 'tcp;ofi_rxm' --label 'it'\\''s' 10.0.0.2\n",
  );
});
