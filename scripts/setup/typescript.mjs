// The TypeScript build: src -> dist. It does not check the types: `npm run gates` does.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { announce, digest, filesBelow, readStamp, root, run, writeStamp } from './step.mjs';

export async function typescript() {
  const sources = filesBelow('src');
  const now = {
    root,
    recipe: digest(['tsconfig.json', 'node_modules/typescript/package.json']),
    names: sources.join(' '),
    sources: digest(sources),
  };
  const then = readStamp('typescript');
  const same = (key) => now[key] === then[key];
  if (existsSync(join(root, 'dist/index.js')) && Object.keys(now).every(same)) return;

  announce('compiling TypeScript');
  writeStamp('typescript', {});
  if (!same('names') || !same('recipe'))
    rmSync(join(root, 'dist'), { recursive: true, force: true });
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', 'tsconfig.json', '--noCheck'], { what: 'tsc' });
  writeStamp('typescript', now);
}
