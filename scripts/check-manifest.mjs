// `node scripts/check-manifest.mjs`: refuses a package.json that lacks the fields that the registry shows: repository,
// issues and author.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './setup/step.mjs';

const REQUIRED = {
  repository:
    '{ "type": "git", "url": "git+https://..." }; the registry resolves links in README against it',
  homepage: 'the address of the documentation',
  bugs: '{ "url": "..." }, where users report problems',
  author: 'a name, with an address or a page',
};

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
for (const [field, meaning] of Object.entries(REQUIRED)) {
  if (manifest[field]) continue;
  console.error(`package.json has no "${field}": ${meaning}`);
  process.exitCode = 1;
}
