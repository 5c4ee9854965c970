// `node scripts/check-binaries.mjs [x64|arm64|FOLDER ...]`: checks that the binaries in prebuilds/ (by
// default of both architectures), or in the folder of a build for this architecture, are complete and load
// on the oldest supported system. Those in prebuilds/ must be stripped.
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ARCHITECTURES, BINARIES, prebuildFolder } from './prebuild/binaries.mjs';
import { hasSymbols, neededVersions, objections } from './prebuild/requirements.mjs';

const asked = process.argv.slice(2);
for (const name of asked.length > 0 ? asked : ARCHITECTURES) {
  const shipped = ARCHITECTURES.includes(name);
  check(shipped ? prebuildFolder(name) : name, shipped ? name : process.arch, shipped);
}

function check(folder, arch, shipped) {
  for (const file of BINARIES.map((name) => join(folder, name))) {
    const label = relative('', file);
    const found = existsSync(file) ? objections(file, arch) : ['is missing'];
    if (shipped && existsSync(file) && hasSymbols(file)) found.push('is not stripped');
    for (const objection of found) console.error(`${label} ${objection}`);
    if (found.length > 0) process.exitCode = 1;
    else console.log(`${label}: ${Object.entries(neededVersions(file)).flat().join(' ')}`);
  }
}
