import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const program = fileURLToPath(new URL('../programs/load.mjs', import.meta.url));
const built =
  process.env.LIBFABRIC_ADDON_DIR || fileURLToPath(new URL('../../build/Release', import.meta.url));

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'libfabric-load-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

interface Outcome {
  loaded?: string;
  name?: string;
  code?: string;
  message?: string;
}

// Imports the package with the addon of a folder. Returns the outcome.
function load(addonFolder: string, env: NodeJS.ProcessEnv = {}): Outcome {
  const options = {
    env: { ...process.env, LIBFABRIC_ADDON_DIR: addonFolder, ...env },
    encoding: 'utf8',
  } as const;
  return JSON.parse(execFileSync(process.execPath, [program], options)) as Outcome;
}

// Copies the built addon into `folder` and replaces one string of the binary.
function patchAddon(from: string, to: string): void {
  expect(to.length).toBe(from.length);
  copyFileSync(join(built, 'preload.node'), join(folder, 'preload.node'));
  const binary = readFileSync(join(built, 'libfabric.node'), 'latin1');
  expect(binary).toContain(`${from}\0`);
  const patched = binary.replaceAll(`${from}\0`, `${to}\0`);
  writeFileSync(join(folder, 'libfabric.node'), patched, 'latin1');
}

test('the addon is taken from LIBFABRIC_ADDON_DIR', () => {
  expect(load(built)).toEqual({ loaded: expect.stringMatching(/^\d+\.\d+/) });
});

test('workers load the addon side by side', async () => {
  const reports = [1, 2, 3].map(async () => {
    const worker = new Worker(program, { stdout: true });
    return (await worker.stdout.toArray()).join('');
  });
  for (const report of await Promise.all(reports)) {
    expect(JSON.parse(report)).toHaveProperty('loaded');
  }
});

test('a missing addon fails with ERR_ADDON_NOT_FOUND and the build command', () => {
  const { code, message } = load(folder);
  expect(code).toBe('ERR_ADDON_NOT_FOUND');
  expect(message).toContain('npm run setup');
  expect(message).toContain(folder);
  expect(message).toContain(`linux ${process.arch}, glibc`);
});

test('an unsupported architecture fails with the supported ones and the expected path', () => {
  // A folder outside the checkout has no build.
  cpSync(fileURLToPath(new URL('../../dist', import.meta.url)), join(folder, 'dist'), {
    recursive: true,
  });
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const program = `
    Object.defineProperty(process, 'arch', { value: 'riscv64' });
    import('./dist/contract/load.js')
      .then(({ loadAddon }) => loadAddon())
      .catch(({ code, message }) => console.log(JSON.stringify({ code, message })));`;
  const env = { ...process.env, LIBFABRIC_ADDON_DIR: '' };
  const args = ['--input-type=module', '-e', program];
  const { code, message } = JSON.parse(
    execFileSync(process.execPath, args, { cwd: folder, env, encoding: 'utf8' }),
  ) as Outcome;
  expect(code).toBe('ERR_ADDON_NOT_FOUND');
  expect(message).toContain('was not found on linux riscv64, glibc');
  expect(message).toContain(join(folder, 'prebuilds/linux-riscv64/preload.node'));
  expect(message).toContain('x64 and arm64');
});

test('an addon without preload.node fails with ERR_ADDON_NOT_FOUND', () => {
  copyFileSync(join(built, 'libfabric.node'), join(folder, 'libfabric.node'));
  expect(load(folder)).toMatchObject({
    code: 'ERR_ADDON_NOT_FOUND',
    message: expect.stringContaining('preload.node'),
  });
});

describe('a missing libfabric', () => {
  test('fails with ERR_LIBFABRIC_NOT_FOUND, the searched paths and the fix', () => {
    patchAddon('libfabric.so.1', 'libfabric.so.9');
    const { name, code, message } = load(folder, { LD_LIBRARY_PATH: '/nowhere' });
    expect({ name, code }).toEqual({ name: 'Error', code: 'ERR_LIBFABRIC_NOT_FOUND' });
    for (const part of [
      'libfabric.so.9 was not found',
      `linux ${process.arch}, glibc`,
      '/opt/amazon/efa/lib64, /opt/amazon/efa/lib',
      'LD_LIBRARY_PATH (/nowhere)',
      'ldconfig -p',
      'apt-get install libfabric1',
      'dnf install libfabric',
      'EFA installer',
    ]) {
      expect(message).toContain(part);
    }
  });

  test('is reported with LD_LIBRARY_PATH (not set)', () => {
    patchAddon('libfabric.so.1', 'libfabric.so.9');
    expect(load(folder, { LD_LIBRARY_PATH: '' }).message).toContain('LD_LIBRARY_PATH (not set)');
  });
});

test('a libfabric older than the headers fails with ERR_LIBFABRIC_TOO_OLD', () => {
  // A symbol version that no libfabric has.
  const [needed] = /FABRIC_1\.\d(?=\0)/.exec(
    readFileSync(join(built, 'libfabric.node'), 'latin1'),
  )!;
  patchAddon(needed, needed === 'FABRIC_1.9' ? 'FABRIC_1.0' : 'FABRIC_1.9');
  const { code, message } = load(folder);
  expect(code).toBe('ERR_LIBFABRIC_TOO_OLD');
  expect(message).toContain('npm run setup');
});

test('an addon that is not a shared object fails with ERR_DLOPEN_FAILED', () => {
  writeFileSync(join(folder, 'preload.node'), 'not an addon');
  writeFileSync(join(folder, 'libfabric.node'), 'not an addon');
  expect(load(folder)).toMatchObject({ code: 'ERR_DLOPEN_FAILED' });
});

describe('an unsupported platform', () => {
  test.each(['darwin', 'win32'])('%s fails with ERR_UNSUPPORTED_PLATFORM', (FAKE_PLATFORM) => {
    expect(load(folder, { FAKE_PLATFORM })).toMatchObject({
      code: 'ERR_UNSUPPORTED_PLATFORM',
      message: expect.stringContaining(`this is ${FAKE_PLATFORM} ${process.arch}`),
    });
  });

  test.each([
    ['glibc', /\bGLIBC_2\.\d\d(?=\0)/, 'GLIBC_9.99'],
    ['libstdc++', /\bGLIBCXX_3\.4\.\d\d(?=\0)/, 'GLIBCXX_9.9.99'],
  ])(
    'an older %s fails with ERR_UNSUPPORTED_PLATFORM and the required versions',
    (_library, version, newer) => {
      const [needed] = version.exec(readFileSync(join(built, 'libfabric.node'), 'latin1'))!;
      patchAddon(needed, newer);
      const { code, message } = load(folder);
      expect(code).toBe('ERR_UNSUPPORTED_PLATFORM');
      expect(message).toContain('needs glibc 2.34 and the libstdc++ of GCC 11');
      expect(message).toContain(newer);
      expect(message).toContain('LIBFABRIC_ADDON_DIR');
    },
  );

  test('musl fails with ERR_UNSUPPORTED_PLATFORM', () => {
    expect(load(folder, { FAKE_PLATFORM: 'musl' })).toMatchObject({
      code: 'ERR_UNSUPPORTED_PLATFORM',
      message: expect.stringContaining('Linux with glibc'),
    });
  });
});
