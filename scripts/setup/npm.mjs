// npm packages: runs `npm ci` if the installed packages differ from package-lock.json.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { announce, root, run } from './step.mjs';

function lockedPackages(file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8')).packages;
}

// npm records the installed packages in node_modules/.package-lock.json. Optional packages may be for other
// platforms, so they may be missing.
function upToDate() {
  const noted = 'node_modules/.package-lock.json';
  if (!existsSync(join(root, noted))) return false;
  const installed = lockedPackages(noted);
  return Object.entries(lockedPackages('package-lock.json')).every(([path, locked]) => {
    if (path === '') return true;
    const there = installed[path];
    return there ? there.version === locked.version : Boolean(locked.optional || locked.peer);
  });
}

export async function npmPackages() {
  if (upToDate()) return;
  announce('installing npm packages');
  // No package needs its install script, and npm would run node-gyp for the binding.gyp of this package.
  const args = ['ci', '--ignore-scripts', '--include=dev', '--no-audit', '--no-fund'];
  const npm = process.env.npm_execpath;
  if (npm?.endsWith('.js')) await run(process.execPath, [npm, ...args], { what: 'npm ci' });
  else await run('npm', args, { what: 'npm ci' });
}
