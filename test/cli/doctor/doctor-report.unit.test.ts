// Reports of `libfabric doctor` on whole machines: healthy, without an EFA, with an unusable one, and with a
// software device.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Diagnosis, Finding } from '../../../dist/cli/doctor/diagnosis.js';
import { GROUPS } from '../../../dist/cli/doctor/examine.js';
import { Files } from '../../../dist/cli/doctor/files.js';
import { diagnosisText } from '../../../dist/cli/doctor/text.js';
import { findingOf, reportOf } from '../../support/doctor-checks.js';
import { efaDevice, hugePages, limits, loadedLibrary } from '../../support/fake-machine.js';

const textOf = (...machine: Parameters<typeof reportOf>) =>
  diagnosisText(reportOf(...machine), false, 100);
const summaryOf = (...machine: Parameters<typeof reportOf>) =>
  textOf(...machine)
    .trimEnd()
    .split('\n')
    .at(-1);

test('on a healthy machine every check is ok', () => {
  const report = reportOf();
  expect(report.findings.filter((finding) => finding.status !== 'ok')).toEqual([]);
  expect(report).toMatchObject({ efa: 'usable', emulated: false, status: 'ok' });
});

test('on a terminal of 50 columns, only paths and commands are wider', () => {
  const text = diagnosisText(reportOf(), true, 50);
  const wide = text.split('\n').filter((line) => line.length > 50);
  expect(wide.filter((line) => !/^ +(\/\S+|npx .*|\S*[./]\S*)$/.test(line))).toEqual([]);
});

test('every check has a unique id, an expected state and a reason', () => {
  const checks = GROUPS.flatMap((group) => group.checks);
  expect(new Set(checks.map(({ id }) => id)).size).toBe(checks.length);
  for (const { id, expected, why } of checks) {
    expect(id).toMatch(/^[a-z-]+\.[a-z-]+$/);
    expect(expected && why).toBeTruthy();
  }
});

describe('a machine without an EFA', () => {
  const none = {
    efa: 'none',
    devices: [],
    trials: [],
    library: loadedLibrary({ efaDomains: [] }),
    absence: { code: 'ERR_NO_RDMA_SUBSYSTEM', message: 'there is none' },
  } as const;
  const files = {
    'sys/module/efa': null,
    'sys/class/infiniband_verbs': null,
    'proc/self/limits': limits(65_536),
    'proc/meminfo': hugePages(0, 0),
  };

  const problemsOf = ({ findings }: Diagnosis) =>
    findings.filter(({ status }) => /warning|error|note/.test(status));

  test('has one note, device.present; checks that need an EFA are skipped', () => {
    const report = reportOf({ ...none, files });
    expect(report).toMatchObject({ efa: 'absent', status: 'ok' });
    const problems = problemsOf(report);
    expect(problems).toMatchObject([{ id: 'device.present', status: 'note', found: 'none' }]);
    expect(problems[0]?.fix).toMatch(/softefa/);
    expect(problems[0]?.fix).not.toMatch(/aws ec2/);
  });

  test('is an error if an EFA is required', () => {
    const report = reportOf({ ...none, files }, { requireEfa: true });
    expect(report.status).toBe('error');
    expect(problemsOf(report)).toMatchObject([{ id: 'device.present', status: 'error' }]);
    expect(reportOf({}, { requireEfa: true }).status).toBe('ok');
  });

  test('has a summary that states no failure', () => {
    expect(summaryOf({ ...none, files })).toMatch(
      /^This machine has no EFA; everything else is fine\. \d+ checks do not apply \(-v\)\.$/,
    );
    const short = { ...none, files, sharedMemory: { size: 2 ** 20, free: 0 } };
    expect(summaryOf(short)).toMatch(/^This machine has no EFA: 1 warning\. /);
  });

  test('has a fix that attaches one on EC2', () => {
    const ec2 = { ...none, files: { ...files, 'sys/class/dmi/id/sys_vendor': 'Amazon EC2' } };
    expect(findingOf('device.present', ec2).fix).toMatch(/aws ec2 describe-instance-types/);
  });

  test('has the findings of skipped checks', () => {
    expect(findingOf('memory.locked', { ...none, files })).toMatchObject({
      status: 'skipped',
      found: '64 KiB (ulimit -l) (it matters with an EFA)',
    });
  });
});

describe('with a probed peer, the diagnosis', () => {
  const peer = (status: Finding['status']) => {
    const finding = { ...findingOf('memory.locked', {}), id: 'peer.tcp', group: 'Peer', status };
    return { peer: { host: 'node7', findings: [finding] } };
  };

  test('has a summary that distinguishes this machine from the peer', () => {
    expect(summaryOf({})).toBe('EFA works.');
    expect(summaryOf({}, peer('ok'))).toBe('EFA works here and to node7.');
    expect(summaryOf({}, peer('error'))).toBe('EFA works here, but not to node7: 1 error.');
    const software = { efa: 'software', devices: [efaDevice({ emulated: true })] } as const;
    expect(summaryOf(software, peer('error'))).toMatch(
      /^EFA works here, in software, but not to node7: 1 error\./,
    );
  });

  test('has the host and whether it was reached', () => {
    expect(reportOf({}, peer('ok')).peer).toEqual({ host: 'node7', reached: true });
    expect(reportOf({}, peer('error'))).toMatchObject({
      efa: 'usable',
      status: 'error',
      peer: { host: 'node7', reached: false },
    });
    expect(reportOf()).not.toHaveProperty('peer');
  });
});

describe('a machine without libfabric', () => {
  const message =
    'libfabric.so.1 was not found on linux x64. The linker searched\n' +
    '  LD_LIBRARY_PATH (not set)\n' +
    'Install libfabric: apt-get install libfabric1';
  const missing = (error: Error) => ({
    efa: 'none' as const,
    devices: [],
    trials: [],
    library: { loaded: null, error },
    files: { 'proc/self/maps': '' },
  });
  const notFound = missing(Object.assign(new Error(message), { code: 'ERR_LIBFABRIC_NOT_FOUND' }));

  test('has libfabric in the first line and in the summary', () => {
    const lines = textOf(notFound).split('\n');
    expect(lines[0]).toBe('libfabric');
    expect(lines[1]).toMatch(/^ {2}✖ libfabric .* was not found/);
    expect(summaryOf(notFound)).toMatch(/^libfabric cannot be used: 1 error\. /);
  });

  test('has the commands that install it as the fix, and only there', () => {
    const { found, fix } = findingOf('libfabric.library', notFound);
    expect(found).toMatch(/was not found .*\n {2}LD_LIBRARY_PATH \(not set\)$/);
    expect(fix).toMatch(/^sudo apt-get install libfabric1/);
  });

  test("has the error's own fix if libfabric is too old", () => {
    const old = 'The libfabric found is too old:\n  undefined symbol\nUpdate libfabric to 1.17';
    const error = Object.assign(new Error(old), { code: 'ERR_LIBFABRIC_TOO_OLD' });
    expect(findingOf('libfabric.library', missing(error))).toMatchObject({
      found: 'The libfabric found is too old:\n  undefined symbol',
      fix: 'Update libfabric to 1.17',
    });
  });

  test('has the variable because of which libfabric aborted the process', () => {
    const error = new Error('a process that does this is killed by SIGABRT: FI_EFA_MTU_SIZE ...');
    const env = { FI_EFA_MTU_SIZE: '1', FI_EFA_TX_SIZE: '1' };
    const named = findingOf('libfabric.library', { ...missing(error), env });
    expect(named.fix).toBe('unset FI_EFA_MTU_SIZE');
    expect(findingOf('libfabric.library', missing(error)).fix).toMatch(/^See Environment/);
  });
});

test('a machine with an EFA but no driver is reported as unusable, not absent', () => {
  const report = reportOf({
    devices: [],
    trials: [],
    library: loadedLibrary({ efaDomains: [] }),
    absence: { code: 'ERR_NO_RDMA_DRIVER', message: 'No driver has taken the EFA' },
    files: { 'sys/module/efa': null, 'sys/class/infiniband_verbs': null },
  });
  expect(report).toMatchObject({ efa: 'unusable', status: 'error' });
  const errors = report.findings.filter((finding) => finding.status === 'error');
  expect(errors.map(({ id }) => id)).toEqual([
    'device.driver',
    'device.nodes',
    'device.opened',
    'provider.offered',
  ]);
});

test('with a software device, checks for hardware are skipped', () => {
  const report = reportOf({
    efa: 'software',
    devices: [efaDevice({ emulated: true })],
    files: { 'sys/module/efa': null, 'etc/libibverbs.d/efa.driver': null },
  });
  expect(report).toMatchObject({ efa: 'usable', emulated: true, status: 'ok' });
});

describe('whyNotOpened()', () => {
  test('returns the error code, or null for a file that can be opened', () => {
    const root = mkdtempSync(join(tmpdir(), 'files-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    mkdirSync(join(root, 'folder'));
    expect(new Files(root).whyNotOpened('/folder')).toBe('EISDIR');
    expect(new Files(root).whyNotOpened('/none')).toBe('ENOENT');
    // No user may write it, not even root.
    expect(new Files().whyNotOpened('/proc/sys/kernel/osrelease')).toBe('EACCES');
    expect(new Files().whyNotOpened('/dev/null')).toBeNull();
  });
});
