// Bundles the libraries of the command line: src/vendor -> dist/vendor. Must run after the TypeScript build,
// which may start with an empty dist.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { announce, digest, filesBelow, readStamp, root, run, writeStamp } from './step.mjs';

export async function vendored() {
  const sources = filesBelow('src/vendor', 'scripts').filter((file) => /vendor/.test(file));
  const now = { root, recipe: digest(['package-lock.json', ...sources]) };
  const then = readStamp('vendor');
  const notices = join(root, 'dist/vendor/LICENSES.txt'); // the last file that is written
  if (existsSync(notices) && Object.keys(now).every((key) => now[key] === then[key])) return;

  announce('bundling libraries');
  await run(process.execPath, ['scripts/vendor.mjs'], { what: 'the bundle' });
  writeStamp('vendor', now);
}
