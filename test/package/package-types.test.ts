// The declarations of the package, as a program with `skipLibCheck: false` compiles them.
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { slow } from '../support/cases.js';
import { entries, errorsIn, projectWith } from '../support/shipped-types.js';

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));

// package-types.slow.test.ts has the oldest and the newest TypeScript, and each @types/node.
if (slow)
  test('every entry compiles with the newest @types/node, and an error in one would be found', () => {
    const project = projectWith(join(modules, 'types-node-newest'));
    onTestFinished(() => rmSync(project, { recursive: true }));
    const declarations = join(project, 'node_modules/libfabric/dist/net/index.d.ts');
    appendFileSync(
      declarations,
      'export declare class Wrong implements AsyncIterable<number> {}\n',
    );
    expect(entries.length).toBeGreaterThan(10);
    expect(errorsIn(project, join(modules, 'typescript'))).toEqual([
      expect.stringContaining("Class 'Wrong' incorrectly implements"),
    ]);
  });
