// A stub to link the addon of another architecture against: an empty libfabric.so.1 with the functions and
// symbol versions of this machine's libfabric.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../setup/step.mjs';

/** The default symbol versions: `{ FABRIC_1.0: ['fi_version', ...], ... }`. */
function currentSymbols() {
  const ask = (program, ...args) => execFileSync(program, args, { encoding: 'utf8' });
  const library = ask(process.env.CXX ?? 'g++', '-print-file-name=libfabric.so').trim();
  const table = ask('readelf', '--dyn-syms', '--wide', library);
  const versions = {};
  for (const [, name, version] of table.matchAll(/\bFUNC\b.* (\w+)@@(FABRIC_[\d.]+)/g)) {
    versions[version] = [...(versions[version] ?? []), name];
  }
  return versions;
}

/** Builds the library with a compiler. Returns its folder. */
export async function importLibrary(folder, compiler) {
  const place = join(folder, 'import');
  mkdirSync(place);
  const versions = Object.entries(currentSymbols());
  const functions = versions.flatMap(([, names]) => names.map((name) => `void ${name}(void) {}\n`));
  const nodes = versions.map(
    ([version, names]) => `${version} { global: ${names.join('; ')}; };\n`,
  );
  const source = join(place, 'libfabric.c');
  const script = join(place, 'libfabric.map');
  writeFileSync(source, functions.join(''));
  writeFileSync(script, nodes.join(''));
  const shape = [
    '-shared',
    '-nostdlib',
    '-Wl,-soname,libfabric.so.1',
    `-Wl,--version-script=${script}`,
  ];
  await run(compiler, [...shape, '-o', join(place, 'libfabric.so'), source]);
  return place;
}
