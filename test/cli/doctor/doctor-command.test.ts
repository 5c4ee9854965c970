// npx libfabric doctor, as a command.
import '../../support/default-queues.js';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SoftefaOptions, softefaEnvironment } from 'libfabric/softefa';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Diagnosis, Finding } from '../../../dist/cli/doctor/diagnosis.js';
import { call } from '../../support/call.js';
import { casesOf, slow } from '../../support/cases.js';
import { libfabric, main, run } from '../../support/command.js';
import { hasRdmaDevice } from '../../support/fake-sysfs.js';
import { ownNamespace } from '../../support/own-namespace.js';

const namespace = ownNamespace('doctor');

const withDevice = (more: SoftefaOptions = {}, variables: NodeJS.ProcessEnv = {}) => ({
  ...process.env,
  ...softefaEnvironment({ namespace, memlock: 'unlimited', ...more }),
  ...variables,
});

function reportOf(
  env: NodeJS.ProcessEnv,
  [program, ...args]: readonly string[] = [process.execPath],
) {
  const command = [...args, ...(program === process.execPath ? [] : [process.execPath])];
  const ended = run(program as string, [...command, main, 'doctor', '--json'], env);
  return { ...ended, report: JSON.parse(ended.stdout) as Diagnosis };
}

const find = ({ findings }: Diagnosis, id: string): Finding | undefined =>
  findings.find((finding) => finding.id === id);

// Findings about this machine that do not depend on the device are ignored.
const ofMachine = ['libfabric.machine', 'same-host.ptrace', 'same-host.shm', 'memory.locked'];
const statuses = ({ findings }: Diagnosis) =>
  Object.fromEntries(
    findings
      .filter(({ id, status }) => /note|warning|error/.test(status) && !ofMachine.includes(id))
      .map(({ id, status }) => [id, status]),
  );

const EXIT = { ok: 0, warning: 1, error: 2 };

describe('with a software device', () => {
  test('all checks are ok, and the exit status is that of the report', () => {
    const { status, report, stderr } = reportOf(withDevice({ nics: 2 }));
    expect(stderr).toBe('');
    expect(report).toMatchObject({
      format: 'libfabric-doctor',
      version: 1,
      efa: 'usable',
      emulated: true,
    });
    expect(statuses(report)).toEqual({});
    expect(status).toBe(EXIT[report.status]);
    expect(find(report, 'provider.endpoint')).toMatchObject({
      status: 'ok',
      found: 'softefa_0-rdm, softefa_1-rdm',
    });
  });

  test('memory that may not be locked is an error, which opening an endpoint shows', () => {
    const { status, report } = reportOf(withDevice({ memlock: 0 }));
    expect(find(report, 'provider.endpoint')).toMatchObject({
      status: 'error',
      found: expect.stringMatching(/^softefa_0-rdm: FI_ENOMEM[^;]*$/),
    });
    expect(report).toMatchObject({ efa: 'unusable', status: 'error' });
    expect(status).toBe(2);
  });

  if (slow)
    test('a memlock limit of the process is an error', (context) => {
      // The limit does not apply to a process with CAP_IPC_LOCK.
      const drop = process.geteuid?.() === 0 ? ['setpriv', '--bounding-set=-ipc_lock'] : [];
      const launcher = [...drop, 'prlimit', '--memlock=65536:65536'];
      context.skip(run(launcher[0] as string, [...launcher.slice(1), 'true']).status !== 0);
      const { status, report } = reportOf(withDevice(), launcher);
      expect(find(report, 'memory.locked')).toMatchObject({
        status: 'error',
        found: '64 KiB (ulimit -l)',
      });
      expect(status).toBe(2);
    });

  test('a device without RDMA is a note, and requiring RDMA with FI_EFA_USE_DEVICE_RDMA is an error', () => {
    const device = { capabilities: ['RNR_RETRY', 'CQ_WITH_SGID'] } as const;
    // libfabric 2.1 aborts on a newer part without RDMA.
    const { report: ofOlder } = reportOf(withDevice({ ...device, partId: 0xefa0 }));
    expect(statuses(ofOlder)).toEqual({ 'device.rdma': 'note' });
    // The provider then aborts any process that queries it, but the doctor must survive.
    const { status, report } = reportOf(withDevice(device, { FI_EFA_USE_DEVICE_RDMA: '1' }));
    expect(find(report, 'environment.speed')).toMatchObject({ status: 'error' });
    expect(report.efa).toBe('unusable');
    expect(status).toBe(2);
  });

  if (slow)
    test('few memory regions are a warning', () => {
      const { report } = reportOf(withDevice({ maxMr: 60 }));
      expect(statuses(report)).toEqual({ 'memory.regions': 'warning' });
    });

  const forks = [
    ['disabled', {}, 'ok'],
    ['disabled', { FI_EFA_FORK_SAFE: '0' }, 'error'],
    ['disabled', { FI_EFA_USE_HUGE_PAGE: '1' }, 'error'],
    ['unneeded', { FI_EFA_USE_HUGE_PAGE: '1' }, 'ok'],
  ] as const;

  test.for(casesOf(forks, (each) => each === forks[1]))(
    'the check of fork support that is %s with %o is %s',
    ([forkStatus, variables, expected]) => {
      const { report } = reportOf(withDevice({ forkStatus }, variables));
      expect(find(report, 'processes.fork')?.status).toBe(expected);
    },
  );

  test('a misspelled variable is a warning with the nearest name', () => {
    const { report } = reportOf(withDevice({}, { FI_EFA_TX_SIZ: '64' }));
    expect(statuses(report)).toEqual({ 'environment.unknown': 'warning' });
    expect(find(report, 'environment.unknown')?.fix).toMatch(/did you mean FI_EFA_TX_SIZE\?$/);
  });

  if (slow)
    test('variables that the package itself sets are not reported', () => {
      expect(find(reportOf(withDevice()).report, 'environment.set')).toMatchObject({
        status: 'ok',
      });
    });

  test('FI_PROVIDER without efa is an error, and the device is not reported as missing', () => {
    const { status, report } = reportOf(withDevice({}, { FI_PROVIDER: 'tcp' }));
    expect(report.efa).toBe('unusable');
    expect(statuses(report)).toMatchObject({
      'provider.offered': 'error',
      'environment.selection': 'error',
    });
    expect(status).toBe(2);
  });

  if (slow)
    test('an unknown FI_LOG_LEVEL is a warning, and EFA remains usable', () => {
      const { report } = reportOf(withDevice({}, { FI_LOG_LEVEL: 'error' }));
      expect(statuses(report)).toMatchObject({ 'environment.values': 'warning' });
      expect(report.efa).toBe('usable');
    });
});

describe.skipIf(hasRdmaDevice())('without a device', () => {
  test('the report has one note, and the exit status does not fail', () => {
    const { status, report, stderr } = reportOf(process.env);
    expect(stderr).toBe('');
    expect(report.efa).toBe('absent');
    expect(statuses(report)).toEqual({ 'device.present': 'note' });
    expect(status).toBe(EXIT[report.status]);
    expect(report.status).not.toBe('error');
  });

  test('--require efa fails, and passes with a software device', () => {
    const required = ['doctor', '--require', 'efa'];
    const { status, stdout } = libfabric(required);
    expect(status).toBe(2);
    expect(stdout).toMatch(
      /✖ An EFA on this machine +none\n[\s\S]*\nThis machine has no EFA: 1 error/,
    );
    const { report } = reportOf(withDevice());
    expect(libfabric(required, withDevice()).status).toBe(EXIT[report.status]);
    expect(report.status).not.toBe('error');
  });
});

describe('without libfabric', () => {
  const built =
    process.env.LIBFABRIC_ADDON_DIR ||
    fileURLToPath(new URL('../../../build/Release', import.meta.url));

  function folderWith(files: readonly string[]): string {
    const folder = mkdtempSync(join(tmpdir(), 'doctor-addon-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const file of files) copyFileSync(join(built, file), join(folder, file));
    return folder;
  }

  test('the report names the package to install, and has the other checks', () => {
    const folder = folderWith(['preload.node', 'verbs.node', 'libsoftefa.so']);
    const binary = readFileSync(join(built, 'libfabric.node'), 'latin1');
    const patched = binary.replaceAll('libfabric.so.1\0', 'libfabrix.so.1\0');
    expect(patched).not.toBe(binary);
    writeFileSync(join(folder, 'libfabric.node'), patched, 'latin1');
    const { status, report } = reportOf(withDevice({}, { LIBFABRIC_ADDON_DIR: folder }));
    expect(find(report, 'libfabric.library')).toMatchObject({
      status: 'error',
      found: expect.stringMatching(/libfabrix\.so\.1 was not found/),
      fix: expect.stringMatching(/apt-get install libfabric1/),
    });
    expect(find(report, 'device.opened')).toMatchObject({ status: 'ok' });
    expect(find(report, 'provider.endpoint')).toMatchObject({ status: 'skipped' });
    expect(status).toBe(2);
  });

  test('and without the addon, the error has the build command', () => {
    const env = { ...process.env, LIBFABRIC_ADDON_DIR: folderWith(['preload.node']) };
    const { status, stdout, stderr } = libfabric(['doctor'], env);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/npm run setup/);
  });
});

describe('as text', () => {
  test('each check has a line, and only findings have details', () => {
    const { stdout } = libfabric(['doctor'], withDevice({ maxMr: 60 }));
    expect(stdout).toMatch(
      /^libfabric\n {2}✔ libfabric [\s\S]*\nDevice\n {2}✔ An EFA on this machine +softefa_0, in software/,
    );
    expect(stdout).toMatch(/\n {2}⚠ Memory regions +softefa_0: 60, .*\n {4}expected {2}room for/);
    expect(stdout).toMatch(/\n {4}why {7}Each registered buffer[\s\S]*\n {4}fix {7}Open few/);
    expect(stdout).not.toMatch(/✔.*\n {4}expected/);
    expect(stdout).toMatch(
      /\nEFA works, in software: .*1 warning\..* \d+ checks do not apply \(-v\)\.\n$/,
    );
    expect(stdout).not.toContain('\u001b');
  });

  if (slow)
    test('-v shows the details of all checks, and skipped checks', () => {
      const { stdout } = libfabric(['doctor', '-v'], withDevice());
      expect(stdout).toMatch(/✔ libfabric .*\n {4}expected {2}libfabric 1\.17 or newer/);
      expect(stdout).toMatch(/- Device nodes +no EFA in .* \(not needed in software\)/);
      expect(stdout).not.toContain('do not apply');
    });

  test.each([
    { NO_COLOR: undefined, colours: true },
    { NO_COLOR: '1', colours: false },
  ])('on a terminal, with NO_COLOR=$NO_COLOR, colours: $colours', ({ NO_COLOR, colours }) => {
    const terminal = { TERM: 'xterm-256color', NO_COLOR };
    // Other variables by which Node.js decides on colours.
    const neither = { FORCE_COLOR: undefined, NODE_DISABLE_COLORS: undefined, CI: undefined };
    const command = `'${process.execPath}' '${main}' doctor`;
    const environment = withDevice({}, { ...terminal, ...neither });
    const { stdout, status } = run('script', ['-qec', command, '/dev/null'], environment);
    expect(status).not.toBeNull();
    expect(stdout).toContain('An EFA on this machine');
    expect(stdout.includes('\u001b[')).toBe(colours);
  });
});

test.each([
  [['--peer', 'x', '--listen'], /cannot be used with/],
  [['--port', '65536'], /not a port/],
  [['--timeout', '0'], /not a number of seconds/],
])('%j is refused', async (args, message) => {
  const { status, stderr } = await call('doctor', ...args);
  expect(status).toBe(1);
  expect(stderr).toMatch(message);
});
