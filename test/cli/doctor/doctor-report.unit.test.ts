// Reports of `libfabric doctor` on whole machines: healthy, without an EFA, with an unusable one, and with a
// software device.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { GROUPS } from '../../../dist/cli/doctor/examine.js';
import { Files } from '../../../dist/cli/doctor/files.js';
import { findingOf, reportOf } from '../../support/doctor-checks.js';
import { efaDevice, hugePages, limits, loadedLibrary } from '../../support/fake-machine.js';

test('on a healthy machine every check is ok', () => {
  const report = reportOf();
  expect(report.findings.filter((finding) => finding.status !== 'ok')).toEqual([]);
  expect(report).toMatchObject({ efa: 'usable', emulated: false, status: 'ok' });
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

  test('has one warning, device.present; checks that need an EFA are skipped', () => {
    const report = reportOf({ ...none, files });
    expect(report).toMatchObject({ efa: 'absent', status: 'warning' });
    const problems = report.findings.filter((finding) => /warning|error|note/.test(finding.status));
    expect(problems).toMatchObject([{ id: 'device.present', status: 'warning' }]);
    expect(problems[0]?.found).toMatch(/no fault/);
    expect(problems[0]?.fix).toMatch(/softefa/);
    expect(problems[0]?.fix).not.toMatch(/aws ec2/);
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
    // Nobody may write it, not even root.
    expect(new Files().whyNotOpened('/proc/sys/kernel/osrelease')).toBe('EACCES');
    expect(new Files().whyNotOpened('/dev/null')).toBeNull();
  });
});
