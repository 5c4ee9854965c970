import { getInfo, version } from 'libfabric';
import { softefaEnvironment } from 'libfabric/softefa';
import { describe, expect, test } from 'vitest';
import { call } from '../support/call.js';
import { libfabric, main, run } from '../support/command.js';
import { runInHost } from '../support/host.js';
import { ownNamespace } from '../support/own-namespace.js';

// FI_EFA_FORK_SAFE is set, because otherwise the package would set it and -g would show it.
const plain = { ...process.env, FI_EFA_FORK_SAFE: '1', FI_LOG_PROV: 'core tcp' };
const withEfa = { ...plain, ...softefaEnvironment({ namespace: ownNamespace('cli-info') }) };

const info = (...args: string[]) => libfabric(['info', ...args], plain);

const about = run('fi_info', ['--version']).stdout ?? '';
const comparable = about.includes(`libfabric: ${version().string}\n`);

// The address of shm contains the pid. It is shorter than the addresses of sockets, which have 16 bytes or more.
const comparableText = (text: string) =>
  text
    .replaceAll(/fi_(?:shm|sm2):\/\/\d+/g, 'fi_shm://pid')
    .replaceAll(/addrlen: 1[0-5]$/gm, 'addrlen: of shm');

describe.skipIf(!comparable)('info prints the same bytes as fi_info of the same libfabric', () => {
  const QUERIES = [
    [],
    ['-l'],
    ['--list', '--verbose'],
    ['-v', '-p', 'shm'],
    ['--provider=udp', '-v'],
    ['-psockets', '-v'],
    ['-t', 'fi_ep_rdm', '-v'],
    ['-p', 'shm', '--ep_type', 'FI_EP_MSG'],
    ['-c', 'FI_MSG|FI_RMA', '-v'],
    ['-c', 'FI_MSG', '-c', 'FI_ATOMIC', '-p', 'shm', '-v'],
    ['-c', 'FI_PEEK'],
    ['-m', 'FI_CONTEXT', '-v'],
    ['--addr_format', 'FI_SOCKADDR_IN', '-p', 'tcp', '-v'],
    ['-n', '127.0.0.1', '-v'],
    ['-n', '127.0.0.1', '-P', '7471', '-p', 'tcp', '-v'],
    ['-s', '127.0.0.1', '-v'],
    ['-d', 'lo'],
    ['-d', 'nonesuch', '-p', 'tcp', '-v'],
    ['-f', 'shm', '-p', 'shm'],
    ['-i', 'fi_proto_rxm'],
    ['-p', 'nonesuch', '-l'],
    ['-p', 'nonesuch'],
    ['-e', '-p', 'nonesuch'],
    ['-g', 'log'],
  ];
  const EFA_QUERIES = [
    ['-v'],
    ['-p', 'efa'],
    ['-p', 'efa', '-v'],
    ['-p', 'efa', '-t', 'FI_EP_DGRAM', '-m', 'FI_MSG_PREFIX', '-v'],
    ['-d', 'softefa_0-rdm', '-v'],
    ['-e'],
  ];

  test.each([
    { on: 'this machine', env: plain, queries: QUERIES },
    { on: 'softefa', env: withEfa, queries: EFA_QUERIES },
  ])('on $on', async ({ env, queries }) => {
    for (const query of queries) {
      const expected = run('fi_info', query, env);
      const actual = await runInHost('client', ['info', ...query], env);
      // fi_info prints the byte 0 instead of the quotes around a value without spaces.
      const stdout = expected.stdout.replaceAll('\0', '');
      expect(comparableText(actual.stdout), query.join(' ')).toBe(comparableText(stdout));
      expect(actual.code, query.join(' ')).toBe(expected.status);
    }
  });
});

test('a query without results fails like fi_info, with the reason and suggestions', () => {
  const adviceFor = (...args: string[]) => {
    const { status, stdout, stderr } = info(...args);
    expect({ status, stdout }).toEqual({ status: 61, stdout: '' });
    const [first, ...advice] = stderr.trimEnd().split('\n');
    expect(first).toBe('fi_getinfo: -61 (No data available)');
    return advice.join('\n');
  };
  expect(adviceFor('-p', 'tcp', '-n', 'no-such-host.invalid')).toMatch(
    /^The host name no-such-host\.invalid cannot be resolved \(E\w+\)\.$/,
  );
  expect(adviceFor('-p', 'shn')).toMatch(/^There is no provider 'shn'\. Did you mean 'shm'\?/);
  expect(adviceFor('-p', 'shm', '-t', 'FI_EP_MSG', '-c', 'FI_MSG')).toMatch(
    /^Without --ep_type FI_EP_MSG: \d+ results?\.\nWithout --provider shm: \d+ results\.$/,
  );
  expect(adviceFor('-p', 'shm', '-t', 'FI_EP_MSG', '-c', 'FI_MULTICAST')).toBe(
    'Nothing matches even without any single option.',
  );
});

test('without an efa device, the error suggests softefa', (context) => {
  if (getInfo({ fabricAttr: { provName: 'efa' } }).length > 0)
    return context.skip('there is an efa device');
  const { status, stderr } = info('-p', 'efa');
  expect(status).toBe(61);
  expect(stderr).toContain('npx libfabric softefa -- npx libfabric info -p efa');
  const found = libfabric(['softefa', '--', process.execPath, main, 'info', '-p', 'efa'], plain);
  expect(found).toMatchObject({ status: 0, stderr: '' });
  expect(found.stdout).toContain('domain: softefa_0-rdm\n');
});

test('the error names a variable that excludes the provider', () => {
  const { stderr } = libfabric(['info', '-p', 'tcp'], { ...plain, FI_PROVIDER: 'shm' });
  expect(stderr).toContain("FI_PROVIDER=shm is set, which may leave out 'tcp'.");
});

test.each([
  [['-c', 'FI_MSG|FI_TAGED'], "'FI_TAGED' is not known; did you mean 'FI_TAGGED'"],
  [['-m', 'fi_contxt'], "'FI_CONTXT' is not known; did you mean 'FI_CONTEXT'"],
  [['-t', 'rdm'], "'RDM' is not known; did you mean 'FI_EP_RDM'"],
  [['-a', 'FI_SOCKADDR_IM'], "'FI_SOCKADDR_IM' is not known; did you mean 'FI_SOCKADDR_I"],
])('%j is refused like in fi_info, with the nearest names', async (args, reason) => {
  const { status, stdout, stderr } = await call('info', ...args);
  expect({ status, stdout }).toEqual({ status: 22, stdout: '' });
  expect(stderr).toContain(`error: ${reason}`);
});

test.each([
  [['--providr', 'tcp'], 'Did you mean --provider?'],
  [['tcp'], "too many arguments for 'info'"],
  [['-s', '127.0.0.1', '-n', '127.0.0.1'], 'cannot be used with'],
])('%j is refused', async (args, reason) => {
  const { status, stderr } = await call('info', ...args);
  expect(status).toBe(1);
  expect(stderr).toContain(reason);
});

test('commas can separate names', () => {
  const { stdout } = info('-c', 'fi_msg,fi_rma', '-p', 'shm');
  expect(stdout).toContain('provider: shm\n');
  expect(stdout).toBe(info('-c', 'FI_MSG|FI_RMA', '-p', 'shm').stdout);
});

test('--rdma prints whether an efa device does reads and writes', () => {
  const { major, minor } = version();
  const { status, stdout, stderr } = libfabric(['info', '--rdma'], withEfa);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  const reportsRdma = major > 1 || minor >= 18;
  expect(stdout).toContain(
    `efa, efa, softefa_0-rdm: ${reportsRdma ? 'reads by the device, writes ' : 'not reported'}`,
  );
  const answers = JSON.parse(libfabric(['info', '--rdma', '--json'], withEfa).stdout);
  const rdma = reportsRdma
    ? { reads: 'device', writes: expect.stringMatching(/^(device|emulated)$/) }
    : null;
  expect(answers).toContainEqual({ provider: 'efa', fabric: 'efa', domain: 'softefa_0-rdm', rdma });
  expect(libfabric(['info', '--rdma', '-p', 'tcp'], withEfa).status).toBe(61);
});

describe('--json', () => {
  const json = (...args: string[]) => JSON.parse(info('--json', ...args).stdout);

  test('has the entries of getInfo() in JSON types', () => {
    const [entry] = json('-p', 'tcp', '-a', 'FI_SOCKADDR_IN', '-n', '127.0.0.1');
    const [known] = getInfo({
      fabricAttr: { provName: 'tcp' },
      addrFormat: 'FI_SOCKADDR_IN',
      node: '127.0.0.1',
    });
    expect(Object.keys(entry)).toEqual(Object.keys(known!));
    expect(BigInt(entry.epAttr.maxMsgSize)).toBe(known!.epAttr.maxMsgSize);
    expect(entry.epAttr.memTagFormat).toBe(`0x${known!.epAttr.memTagFormat.toString(16)}`);
    expect(entry.destAddr).toBe(Buffer.from(known!.destAddr!).toString('hex'));
    expect(entry.caps).toEqual(expect.arrayContaining(['FI_MSG', 'FI_RMA']));
  });

  test('prints an unlimited size as a number, not as null', () => {
    for (const { domainAttr, txAttr } of json()) {
      for (const size of [domainAttr.mrCnt, domainAttr.epCnt, txAttr.injectSize]) {
        expect(Number(size)).toBeGreaterThanOrEqual(0);
        expect(size).not.toBe(null);
      }
    }
  });

  test('has providers and environment variables', () => {
    expect(json('-l')).toContainEqual({
      provName: 'shm',
      provVersion: expect.stringMatching(/^\d+\.\d+$/),
    });
    expect(json('-g', 'fi_log_prov')).toContainEqual({
      name: 'FI_LOG_PROV',
      type: 'FI_PARAM_STRING',
      helpString: expect.stringContaining('provider'),
      value: 'core tcp',
    });
  });
});

test('--version prints the versions of the package and libfabric and the path of the library', () => {
  const { string, apiVersion } = version();
  const { stdout } = info('--version');
  expect(stdout).toMatch(/^npm package: \d+\.\d+\.\d+/);
  expect(stdout).toContain(`libfabric: ${string}\nlibfabric api: ${apiVersion}\nlibrary: /`);
});

test('a reader that closes the pipe early is not an error', () => {
  const script = `"${process.execPath}" "${main}" info -v | head -n 1`;
  expect(run('sh', ['-c', script])).toMatchObject({ stdout: '---\n', stderr: '' });
});
