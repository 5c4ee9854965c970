// A project that uses the declarations of the package, as npm installs them, and the errors that TypeScript finds in it.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HANG_MS } from './limits.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = join(root, 'test/programs/check-types.mjs');

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { readonly types: string }>;
};

/** The modules of the package that have declarations. */
export const entries = Object.entries(exports).flatMap(([name, target]) =>
  typeof target === 'object' ? [`libfabric${name.slice(1)}`] : [],
);

/** Only names of Node.js: a program that uses the package need not have the types of browsers. */
const compilerOptions = {
  module: 'nodenext',
  target: 'es2022',
  lib: ['es2022', 'esnext.disposable'],
  types: ['node'],
  strict: true,
  skipLibCheck: false,
  noEmit: true,
};

/** Makes a project with this @types/node, and a file that imports each entry of the package. Returns its folder. */
export function projectWith(typesNode: string): string {
  const project = mkdtempSync(join(tmpdir(), 'libfabric-types-'));
  const modules = join(project, 'node_modules');
  const find = createRequire(join(typesNode, 'package.json'));
  const undici = dirname(find.resolve('undici-types/package.json'));
  const isDeclaration = (path: string) => !path.endsWith('.js');
  mkdirSync(join(modules, 'libfabric'), { recursive: true });
  cpSync(join(root, 'package.json'), join(modules, 'libfabric/package.json'));
  cpSync(join(root, 'dist'), join(modules, 'libfabric/dist'), {
    recursive: true,
    filter: isDeclaration,
  });
  cpSync(join(root, 'node_modules/commander'), join(modules, 'commander'), { recursive: true });
  cpSync(typesNode, join(modules, '@types/node'), { recursive: true });
  cpSync(undici, join(modules, 'undici-types'), { recursive: true });
  const imports = entries.map((entry, i) => `export * as entry${i} from '${entry}';\n`);
  writeFileSync(join(project, 'entries.ts'), imports.join(''));
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  const config = { compilerOptions, files: ['entries.ts'] };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
  return project;
}

/** The errors that the TypeScript in this folder finds in the package and in the project. */
export function errorsIn(project: string, typescript: string): string[] {
  const output = execFileSync(process.execPath, [program, typescript, project], {
    encoding: 'utf8',
    timeout: HANG_MS,
  });
  return output.split('\n').filter((line) => line !== '');
}
