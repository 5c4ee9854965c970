// The package as users get it: packed, installed without install scripts into a project, and used from there.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HANG_MS } from '../support/limits.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const BINARIES = [
  'libfabric.node',
  'preload.node',
  'verbs.node',
  'cuda.node',
  'neuron.node',
  'libsoftefa.so',
];
const prebuilds = `prebuilds/linux-${process.arch}`;

let folder: string; // holds the package, its tarball and the project
let project: string;
let packed: { filename: string; size: number; files: { path: string; size: number }[] };

// Without variables of this checkout or of the npm that runs the suite.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config_)|LIBFABRIC_|LD_PRELOAD|NODE_OPTIONS)/.test(name),
  ),
);

function npm(cwd: string, ...args: string[]): string {
  const env = { ...environment, NODE_EXTRA_CA_CERTS: process.env.LIBFABRIC_TEST_CA_CERTS };
  const options = { cwd, env, encoding: 'utf8', timeout: 120_000 } as const;
  return execFileSync('npm', [...args, '--ignore-scripts', '--no-audit', '--no-fund'], options);
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'libfabric-package-'));
  const source = join(folder, 'package');
  const folders = ['dist', 'docs', 'examples'];
  for (const name of ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', ...folders]) {
    cpSync(join(root, name), join(source, name), { recursive: true });
  }
  // The files that `npm run prebuilds` produces.
  mkdirSync(join(source, prebuilds), { recursive: true });
  for (const name of BINARIES) {
    const stripped = join(source, prebuilds, name);
    execFileSync('strip', ['--strip-all', '-o', stripped, join(root, 'build/Release', name)]);
  }
  [packed] = JSON.parse(npm(source, 'pack', '--json', `--pack-destination=${folder}`));

  project = join(folder, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true }');
  npm(project, 'install', '--prefer-offline', join(folder, packed.filename));
}, 150_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program of the project. Returns its output. */
function run(name: string, program: string, ...args: string[]): string {
  writeFileSync(join(project, name), program);
  const command = ['--no-warnings', name, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    cwd: project,
    env: environment,
    encoding: 'utf8',
    timeout: HANG_MS,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

/** The files that a document of the package links to, relative to the package. */
function linksOf(path: string): string[] {
  const text = readFileSync(join(project, 'node_modules/libfabric', path), 'utf8');
  return [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
    .map(([, link]) => link as string)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => posix.join(posix.dirname(path), link));
}

describe('the tarball', () => {
  test('has the program, its types, the binaries, documents, examples and nothing else', () => {
    const unexpected = packed.files
      .map(({ path }) => path)
      .filter((path) => !/^dist\/[\w/-]+(\.d\.ts|\.js)$/.test(path))
      .filter((path) => !/^docs\/((reference\/)?[\w-]+\.md|[\w-]+\.svg)$/.test(path))
      .filter((path) => !/^examples\/[\w-]+\/[\w-]+\.mjs$/.test(path));
    expect(unexpected.sort()).toEqual(
      [
        ...['LICENSE', 'README.md', 'CHANGELOG.md', 'package.json', 'dist/vendor/LICENSES.txt'],
        ...BINARIES.map((name) => `${prebuilds}/${name}`),
      ].sort(),
    );
  });

  // Binaries are half of the tarball of one architecture, the program a third, documents and types the rest.
  test('with the binaries of one architecture is smaller than 1.95 MB', () => {
    expect(packed.size).toBeLessThan(1_950_000);
  });

  test('with those of both architectures is smaller than 2.5 MB', (context) => {
    const shipped = join(root, 'prebuilds');
    const missing = ['x64', 'arm64'].filter((arch) => !existsSync(join(shipped, `linux-${arch}`)));
    context.skip(missing.length > 0, `not prebuilt: npm run prebuilds -- ${missing.join(' ')}`);
    const both = join(folder, 'both');
    cpSync(join(folder, 'package'), both, { recursive: true });
    rmSync(join(both, 'prebuilds'), { recursive: true });
    cpSync(shipped, join(both, 'prebuilds'), { recursive: true });
    const [{ size, files }] = JSON.parse(npm(both, 'pack', '--json', '--dry-run'));
    const binaries = files.filter(({ path }: { path: string }) => path.startsWith('prebuilds/'));
    expect(binaries).toHaveLength(2 * BINARIES.length);
    expect(size).toBeLessThan(2_500_000);
  });

  test('has no dependency except commander', () => {
    const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'));
    expect(Object.keys(lock.packages).sort()).toEqual([
      '',
      'node_modules/commander',
      'node_modules/libfabric',
    ]);
  });

  test('has every file that its documents link to', () => {
    const present = new Set(packed.files.map(({ path }) => path));
    const broken = [...present]
      .filter((path) => path.endsWith('.md') && path !== 'CHANGELOG.md')
      .flatMap((path) => linksOf(path).map((link) => `${path}: ${link}`))
      .filter((line) => !present.has(line.slice(line.indexOf(': ') + 2)));
    expect(broken).toEqual([]);
  });

  test('has types that TypeScript 5.2 reads: no generic typed arrays', () => {
    const generic = packed.files
      .map(({ path }) => path)
      .filter((path) => path.endsWith('.d.ts'))
      .filter((path) =>
        /\b(ArrayBufferView|DataView|\w+Array)<ArrayBuffer/.test(
          readFileSync(join(project, 'node_modules/libfabric', path), 'utf8'),
        ),
      );
    expect(generic).toEqual([]);
  });

  test('passes publint', async () => {
    const { publint } = await import('publint');
    const { messages } = await publint({
      pkgDir: join(project, 'node_modules/libfabric'),
      strict: true,
      pack: false,
    });
    expect(messages).toEqual([]);
  });
});

describe('a program', () => {
  const versions =
    'console.log(typeof version().string, typeof devices, typeof loadSoftefa, typeof cores, isAvailable());';

  test('imports the package and its subpaths', () => {
    const program = `
      import { version } from 'libfabric';
      import { loadSoftefa } from 'libfabric/softefa';
      import { devices } from 'libfabric/verbs';
      import { efaStatus } from 'libfabric/efa';
      if (efaStatus(4096) === undefined) throw new Error('libfabric/efa');
      import { FolderDirectory } from 'libfabric/directory';
      if (typeof FolderDirectory !== 'function') throw new Error('libfabric/directory');
      import { isAvailable } from 'libfabric/cuda';
      import { cores } from 'libfabric/neuron';
      ${versions}`;
    expect(run('import.mjs', program)).toMatch(
      /^string function function function (true|false)\n$/,
    );
  });

  // Needs Node.js 20.19, 22.12 or later. Before that, CommonJS must use import().
  test.skipIf(!process.features.require_module)('requires the package from CommonJS', () => {
    const program = `
      const { version } = require('libfabric');
      const { loadSoftefa } = require('libfabric/softefa');
      const { devices } = require('libfabric/verbs');
      const { isAvailable } = require('libfabric/cuda');
      const { cores } = require('libfabric/neuron');
      ${versions}`;
    expect(run('require.cjs', program)).toMatch(
      /^string function function function (true|false)\n$/,
    );
  });

  test.each(['tcp', 'efa'])('transfers data over %s', (provider) => {
    const program = readFileSync(new URL('../programs/transfer.mjs', import.meta.url), 'utf8');
    expect(run('transfer.mjs', program, provider)).toBe('hello, fabric\n');
  });

  test('cannot import files that are not exported', () => {
    const program = `
      import('libfabric/dist/contract/load.js').catch(({ code }) => console.log(code));`;
    expect(run('deep.mjs', program)).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED\n');
  });
});

describe('npx', () => {
  const npx = (...args: string[]) =>
    spawnSync('npx', ['--no', '--', 'libfabric', ...args], {
      cwd: project,
      env: environment,
      encoding: 'utf8',
      timeout: HANG_MS,
    });

  test('npx libfabric info lists the endpoints of libfabric', () => {
    const { status, stdout } = npx('info', '-p', 'tcp', '--json');
    expect(status).toBe(0);
    const [first] = JSON.parse(stdout);
    expect(first.fabricAttr.provName).toMatch(/^tcp/);
  });

  test('npx libfabric softefa runs a command with a device', () => {
    const { status, stdout } = npx(
      ...['softefa', '--', 'npx', '--no', '--', 'libfabric', 'info', '-p', 'efa', '--json'],
    );
    expect(status).toBe(0);
    expect(JSON.parse(stdout)[0].domainAttr.name).toMatch(/^softefa_0/);
  });
});

describe('TypeScript finds the types', () => {
  const consumer = `
    import { type Endpoint, open } from 'libfabric';
    import { loadSoftefa, type SoftefaOptions } from 'libfabric/softefa';
    import { devices } from 'libfabric/verbs';
    import { type EfaStatus, efaStatus } from 'libfabric/efa';
    import { allocate, type CudaMemory } from 'libfabric/cuda';
    import type { Diagnosis, DevicesOutput, Result } from 'libfabric/cli-types';
    const options: SoftefaOptions = { nics: 2 };
    loadSoftefa(options);
    export const decoded: EfaStatus | undefined = efaStatus(4096);
    export const first: string | undefined = devices()[0]?.name;
    export const onDevice: () => CudaMemory = () => allocate(4096, { device: 1 });
    export const ep = await open({ provider: 'tcp', caps: ['FI_MSG'] });
    // @ts-expect-error: the types are not any
    export const wrong: number = ep.address;
    export const status = (diagnosis: Diagnosis): 'ok' | 'warning' | 'error' => diagnosis.status;
    export const size = (result: Result) => result.kind === 'matrix' ? result.size : result.rows[0]?.size;
    export const node = (found: DevicesOutput): string | null | undefined => found[0]?.nodeGuid;
    // @ts-expect-error: a result has no such member
    export const none = (result: Result) => result.sizes;
    export type { Endpoint };`;
  const commonJs = `
    import libfabric = require('libfabric');
    export const version: string = libfabric.version().string;`;

  test.each([
    ['nodenext', 'nodenext', 'consumer.mts', consumer],
    ['esnext', 'bundler', 'consumer.mts', consumer],
    ['esnext', 'node10', 'consumer.ts', consumer],
    ['nodenext', 'nodenext', 'consumer.cts', commonJs],
  ])('module %s, resolution %s: %s', (module, resolution, file, source) => {
    writeFileSync(join(project, file), source);
    const types = join(root, 'node_modules/@types');
    const { status, stdout } = spawnSync(
      join(root, 'node_modules/.bin/tsc'),
      [
        ...['--noEmit', '--strict', '--target', 'es2023', '--lib', 'es2023,esnext.disposable'],
        ...['--module', module, '--moduleResolution', resolution],
        ...['--types', 'node', '--typeRoots', types, file],
      ],
      { cwd: project, encoding: 'utf8' },
    );
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
  });
});
