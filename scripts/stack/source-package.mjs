// Source packages of Debian. apt-get verifies them, without the machine's own lists.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run, SetupError } from '../setup/step.mjs';
import { onPath } from '../setup/system.mjs';
import { mirror } from './debian.mjs';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

/**
 * Downloads the main archive of a source package into a folder, and returns its path. Debian's patches are left out.
 * Throws SetupError if that is not possible.
 */
export async function downloadSource(release, name, folder) {
  if (!onPath('apt-get') || !existsSync(KEYRING)) {
    throw new SetupError(
      "Debian's source package needs apt-get and the package debian-archive-keyring",
    );
  }
  const options = optionsIn(folder, release);
  const apt = (...command) =>
    run('sh', ['-c', 'cd "$0" && exec apt-get "$@"', folder, ...options, ...command], {
      what: `apt-get ${command.join(' ')}`,
    });
  await apt('update');
  // A mirror may lack one of the smaller archives.
  const failure = await apt('source', '--download-only', '--tar-only', name).catch((each) => each);
  const file = readdirSync(folder).find(
    (each) => each.startsWith(`${name}_`) && /\.orig\.tar\.\w+$/.test(each),
  );
  if (file === undefined)
    throw failure ?? new SetupError(`apt-get has left no archive in ${folder}`);
  if (failure) verify(folder, file, options, name);
  return join(folder, file);
}

/** Options of apt-get for which the release is the only source, and the folder has its lists. */
function optionsIn(folder, release) {
  const lists = join(folder, 'lists');
  mkdirSync(join(lists, 'partial'), { recursive: true });
  const sources = join(folder, 'sources.list');
  writeFileSync(sources, `deb-src [signed-by=${KEYRING}] ${mirror()} ${release} main\n`);
  return [
    `Dir::Etc::SourceList=${sources}`,
    'Dir::Etc::SourceParts=/dev/null',
    `Dir::State::Lists=${lists}`,
    `Dir::Cache=${join(folder, 'cache')}`,
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option]);
}

/** Compares an archive with the digest in the signed lists. */
function verify(folder, file, options, name) {
  const command = [...options, 'source', '--print-uris', '--tar-only', name];
  const { stdout } = spawnSync('apt-get', command, { encoding: 'utf8' });
  const line = stdout.split('\n').find((each) => each.includes(` ${file} `)) ?? '';
  const [, algorithm, wanted] = line.match(/ (SHA256|SHA512):([0-9a-f]+)/) ?? [];
  const bytes = readFileSync(join(folder, file));
  if (!algorithm || createHash(algorithm).update(bytes).digest('hex') !== wanted)
    throw new SetupError(`${file} is not what the lists of Debian describe`);
}
