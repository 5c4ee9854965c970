// The native build, with node-gyp: the addons (build/Release/*.node) and libsoftefa.so.
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { BINARIES } from '../native-build.mjs';
import { findLibfabric } from './libfabric.mjs';
import {
  announce,
  digest,
  filesBelow,
  readStamp,
  root,
  run,
  SetupError,
  writeStamp,
} from './step.mjs';

const OUTPUTS = BINARIES.map((name) => join(root, 'build/Release', name));
const RECIPE = ['binding.gyp', 'scripts/libfabric-flags.mjs', 'scripts/native-build.mjs'];

/** The prefix whose include/node contains the headers of this Node; undefined if there is none. */
export function nodeHeadersPrefix() {
  const prefixes = [dirname(dirname(process.execPath)), '/usr', '/usr/local'];
  return prefixes.find((prefix) => {
    const file = join(prefix, 'include/node/node_version.h');
    if (!existsSync(file)) return false;
    const text = readFileSync(file, 'utf8');
    const part = (name) => text.match(new RegExp(`#define NODE_${name}_VERSION (\\d+)`))?.[1];
    return process.versions.node === `${part('MAJOR')}.${part('MINOR')}.${part('PATCH')}`;
  });
}

function fingerprint() {
  const libfabric = findLibfabric();
  const sources = filesBelow('native').filter((file) => /\.(cc|h)$/.test(file));
  return {
    toolchain: `${root} ${process.env.LIBFABRIC_UNITS ?? ''} ${process.version} ${process.arch} ${JSON.stringify(libfabric)}`,
    recipe: digest([...RECIPE, 'node_modules/node-addon-api/package.json']),
    names: sources.join(' '),
    sources: digest(sources),
  };
}

export async function nativeAddon() {
  const now = fingerprint();
  const then = readStamp('native');
  const same = (key) => now[key] === then[key];
  const configured = existsSync(join(root, 'build/Makefile')) && same('recipe') && same('names');
  if (configured && same('toolchain') && same('sources') && OUTPUTS.every(existsSync)) return;

  announce('building the native addon');
  let commands = ['configure', 'build'];
  if (then.toolchain && !same('toolchain')) commands = ['rebuild'];
  else if (configured) commands = ['build'];

  writeStamp('native', { ...then, sources: 'being built' });
  const prefix = nodeHeadersPrefix();
  const nodeGyp = join(root, 'node_modules/node-gyp/bin/node-gyp.js');
  for (const command of commands) {
    const args = [nodeGyp, command, '-j', String(Math.min(availableParallelism(), 8))];
    if (prefix) args.push(`--nodedir=${prefix}`);
    await run(process.execPath, args, {
      what: `node-gyp ${command}`,
      hint: prefix
        ? undefined
        : `Node ${process.version} has no headers installed; node-gyp downloads them from nodejs.org.`,
    });
  }
  const absent = OUTPUTS.filter((file) => !existsSync(file));
  if (absent.length > 0)
    throw new SetupError(`the native build did not produce ${absent.join(', ')}`);
  writeStamp('native', now);
}
