// The declarations of the package with each TypeScript and each @types/node that programs use. npm downloads them.
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { entries, errorsIn, projectWith } from '../support/shipped-types.js';

const TYPESCRIPTS = ['5.2', '5.4', '5.6', '5.9', '6', '7'];
const NODES = ['20', '22', '24', '26'];

const isFirstOrLast = (all: readonly string[], each: string) =>
  each === all[0] || each === all.at(-1);

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'libfabric-types-'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  const packages = [
    ...TYPESCRIPTS.map((version) => `typescript-${version}@npm:typescript@${version}`),
    ...NODES.map((version) => `types-node-${version}@npm:@types/node@${version}`),
  ];
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  execFileSync('npm', ['install', ...quiet, ...packages], { cwd: folder, timeout: 120_000 });
}, 150_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(NODES)('@types/node %s', (node) => {
  let project: string;

  beforeAll(() => {
    project = projectWith(join(folder, `node_modules/types-node-${node}`));
  });

  afterAll(() => rmSync(project, { recursive: true }));

  const versions = TYPESCRIPTS.filter(
    (version) => isFirstOrLast(NODES, node) || isFirstOrLast(TYPESCRIPTS, version),
  );

  test.each(versions)('TypeScript %s', (version) => {
    expect(errorsIn(project, join(folder, `node_modules/typescript-${version}`))).toEqual([]);
  });
});

test('every entry compiles with the newest @types/node, and an error in one would be found', () => {
  const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
  const project = projectWith(join(modules, 'types-node-newest'));
  onTestFinished(() => rmSync(project, { recursive: true }));
  const declarations = join(project, 'node_modules/libfabric/dist/net/index.d.ts');
  appendFileSync(declarations, 'export declare class Wrong implements AsyncIterable<number> {}\n');
  expect(entries.length).toBeGreaterThan(10);
  expect(errorsIn(project, join(modules, 'typescript'))).toEqual([
    expect.stringContaining("Class 'Wrong' incorrectly implements"),
  ]);
});
