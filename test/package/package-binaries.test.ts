// The binaries in the package load on the oldest supported system.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hasSymbols } from '../../scripts/prebuild/requirements.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const built = join(root, 'build/Release');
const BINARIES = [
  'libfabric.node',
  'preload.node',
  'verbs.node',
  'cuda.node',
  'neuron.node',
  'libsoftefa.so',
];

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libfabric-binaries-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

function check(...args: string[]) {
  const script = join(root, 'scripts/check-binaries.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

// Copies the build to `folder` and replaces a string of one file with another of the same length.
function patchBuild(name: string, from: string, to: string): void {
  for (const file of BINARIES) copyFileSync(join(built, file), join(folder, file));
  const binary = readFileSync(join(built, name), 'latin1');
  expect(binary).toContain(`${from}\0`);
  writeFileSync(join(folder, name), binary.replaceAll(`${from}\0`, `${to}\0`), 'latin1');
}

// Binaries that are built on a system newer than Debian 12 may need that system. They are not shipped.
const { header } = process.report.getReport() as { header: { glibcVersionRuntime: string } };
const newer = Number(header.glibcVersionRuntime.split('.')[1]) > 36;

test.skipIf(newer)('the local build loads on Amazon Linux 2023 with libfabric 1.17', () => {
  expect(check(built)).toMatchObject({ status: 0, stderr: '' });
});

test.for(['x64', 'arm64'])('the prebuilt binaries for %s load there, too', (arch, context) => {
  if (!existsSync(join(root, 'prebuilds', `linux-${arch}`))) {
    context.skip(`not prebuilt: npm run prebuilds -- ${arch}`);
  }
  const { status, stdout, stderr } = check(arch);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  for (const name of BINARIES) expect(stdout).toContain(`linux-${arch}/${name}: `);
});

test.skipIf(newer).each([
  ['libsoftefa.so', 'GLIBC_2.34', 'GLIBC_2.39'],
  ['libfabric.node', 'GLIBCXX_3.4.29', 'GLIBCXX_3.4.30'],
  ['libfabric.node', 'FABRIC_1.3', 'FABRIC_1.8'],
  ['verbs.node', 'napi_close_escapable_handle_scope', 'node_api_create_property_key_utf8'],
])('the check refuses %s with %s replaced by %s', (name, from, to) => {
  patchBuild(name, from, to);
  const { status, stderr } = check(folder);
  expect(status).toBe(1);
  expect(stderr).toContain(name);
  expect(stderr).toContain(`needs ${to}`);
});

test('the check detects binaries that are not stripped', () => {
  const stripped = join(folder, 'verbs.node');
  execFileSync('strip', ['--strip-debug', '-o', stripped, join(built, 'verbs.node')]);
  expect([hasSymbols(join(built, 'verbs.node')), hasSymbols(stripped)]).toEqual([true, true]);
  execFileSync('strip', ['--strip-all', stripped]);
  expect(hasSymbols(stripped)).toBe(false);
});

test('the check refuses a missing binary', () => {
  patchBuild('verbs.node', 'GLIBC_2.34', 'GLIBC_2.34');
  rmSync(join(folder, 'preload.node'));
  expect(check(folder)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('preload.node is missing'),
  });
});

test("the check refuses another architecture's binary", () => {
  patchBuild('verbs.node', 'GLIBC_2.34', 'GLIBC_2.34');
  const verbs = readFileSync(join(folder, 'verbs.node'));
  verbs.writeUInt16LE(243, 18); // e_machine: RISC-V
  writeFileSync(join(folder, 'verbs.node'), verbs);
  expect(check(folder).stderr).toMatch(/verbs\.node is for RISC-V/);
});
