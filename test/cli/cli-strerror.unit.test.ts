import { errnoByCode, strerror, version } from 'libfabric';
import { efaStatus } from 'libfabric/efa';
import { describe, expect, test } from 'vitest';
import { call } from '../support/call.js';
import { main, run } from '../support/command.js';

const command = (...args: string[]) => call('strerror', ...args);

test.each(['61', '-61', '0x3d', '075', 'FI_ENODATA', 'fi_enodata', 'ENODATA'])(
  '%s is number 61, FI_ENODATA',
  async (code) => {
    expect(await command(code)).toMatchObject({
      status: 0,
      stdout: `61  FI_ENODATA  ${strerror(61)}\n`,
      stderr: '',
    });
  },
);

test('several codes are printed as a table', async () => {
  const { stdout } = await command('265', 'FI_EIO');
  expect(stdout).toBe(`265  FI_ETRUNC  ${strerror(265)}\n  5  FI_EIO     ${strerror(5)}\n`);
});

test('every name of errnoByCode and the number 0 are known', async () => {
  const { stdout } = await command(...Object.keys(errnoByCode), '--json');
  expect(JSON.parse(stdout)).toEqual(
    Object.entries(errnoByCode).map(([code, errno]) => ({ code, errno, text: strerror(errno) })),
  );
  expect((await command('0')).stdout).toBe(`0  FI_SUCCESS  ${strerror(0)}\n`);
});

test('a number without a name in libfabric has the name of the system', async () => {
  expect((await command('17')).stdout).toBe(`17  EEXIST  ${strerror(17)}\n`);
  expect((await command('EEXIST')).stdout).toBe((await command('17')).stdout);
});

describe.skipIf(run('fi_strerror', ['0']).status !== 0)(
  'strerror prints the texts of fi_strerror',
  () => {
    test.each(['0', '61', '-61', '0x109', '0411', '9999'])('for %s', async (code) => {
      const text = run('fi_strerror', [code]).stdout.trimEnd();
      expect((await command('--json', '--', code)).stdout).toContain(`"text": "${text}"`);
    });
  },
);

describe('error numbers of efa', () => {
  const rnr = `10  ${efaStatus(10, version())?.name}  The receiver is not ready`;

  test.each(['10', '0xa', 'REMOTE_ERROR_RNR', 'fi_efa_remote_error_rnr'])('%s', async (code) => {
    const { status, stdout } = await command('--provider', 'efa', code);
    expect(status).toBe(0);
    expect(stdout).toContain(rnr);
    expect(stdout).toContain('FI_OPT_EFA_RNR_RETRY');
  });

  test('a number that only efa has needs no --provider, and has a hint', async () => {
    const { stdout } = await command('4126', '61');
    expect(stdout).toContain('4126  FI_EFA_ERR_UNESTABLISHED_RECV_UNRESP  ');
    expect(stdout).toContain('security group');
    expect(stdout).toContain('  61  FI_ENODATA');
  });

  test('--json has the members of a FabricError', async () => {
    const [error] = JSON.parse((await command('--json', '4112')).stdout);
    const { name, text, retryable, hint } = efaStatus(4112, version()) ?? {};
    expect(error).toEqual({ provErrno: 4112, provCode: name, text, retryable, hint });
  });

  test.each([
    [['-p', 'efa', '4095'], 'is no error of the efa provider'],
    [['-p', 'efa', 'REMOTE_ERROR_RNT'], "Did you mean 'REMOTE_ERROR_RNR'"],
    [['-p', 'tcp', '1'], 'Allowed choices are efa'],
  ])('%j is refused', async (args, reason) => {
    const { status, stdout, stderr } = await command(...args);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain(reason);
  });
});

test.each([
  [['FI_ENODATTA'], "Did you mean 'FI_ENODATA'"],
  [['4294967296'], 'is past 31 bits.'],
  [[], "missing required argument 'code'"],
  [['--jsn', '61'], 'Did you mean --json?'],
])('%j is refused', async (args, reason) => {
  const { status, stdout, stderr } = await command(...args);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain(reason);
});

describe('without libfabric', () => {
  const env = { ...process.env, LIBFABRIC_ADDON_DIR: '/nonexistent' };

  test('the texts are those of fi_errno(3), and of the newest efa provider', () => {
    const { status, stdout, stderr } = run(
      process.execPath,
      [main, 'strerror', '265', '4126'],
      env,
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(`265  FI_ETRUNC`);
    expect(stdout).toContain(efaStatus(4126)?.text);
  });

  test('an unknown name is refused', () => {
    const { status, stderr } = run(process.execPath, [main, 'strerror', 'FI_ENOTHING'], env);
    expect(status).toBe(1);
    expect(stderr).toBe("error: 'FI_ENOTHING' is not known. fi_errno(3) has the names.\n");
  });
});
