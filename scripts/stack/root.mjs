// A folder with only the requirements of the package: glibc, libstdc++ and libfabric of Debian 12, Node.js from the npm
// registry, and the package as npm installs it, for x64 or arm64.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { compile } from '../prebuild/compile.mjs';
import { announce, root, run } from '../setup/step.mjs';
import { onPath, systemPackages } from '../setup/system.mjs';
import { DEBOOTSTRAP, mirror, SCRIPT } from './debian.mjs';
import { installNode } from './node.mjs';

const RELEASE = 'bookworm';
const NODE = 20;
const PACKAGES = ['libfabric1', 'ibverbs-providers', 'libstdc++6'];
const DEBIAN_NAMES = { x64: 'amd64', arm64: 'arm64' };
const EMULATORS = { x64: 'qemu-x86_64-static', arm64: 'qemu-aarch64-static' };

const emulation = (arch) => ({
  name: "QEMU's user mode",
  present: () => onPath(EMULATORS[arch]),
  apt: ['qemu-user-static'],
  dnf: ['qemu-user-static'],
});

/** The folder for an architecture, within which the package is in /app. */
export const rootFolder = (arch) => join(root, `build-root-${arch}`);

/** The command line that runs a program of the folder on a machine of another architecture. */
export const emulating = (arch) => [EMULATORS[arch], '-L', rootFolder(arch)];

/** Fills the folder. Debian's files stay from one call to the next. */
export async function makeRoot(arch) {
  await systemPackages([DEBOOTSTRAP, ...(arch === process.arch ? [] : [emulation(arch)])]);
  await extractDebian(arch);
  const folder = rootFolder(arch);
  copyFileSync(installNode(NODE, arch), join(folder, 'usr/bin/node'));
  await installPackage(arch, join(folder, 'app'));
}

async function extractDebian(arch) {
  const folder = rootFolder(arch);
  const made = join(folder, 'made');
  const wanted = PACKAGES.join(' ');
  if (existsSync(made) && readFileSync(made, 'utf8') === wanted) return;
  announce(`creating a root for ${arch} in ${folder}`);
  rmSync(folder, { recursive: true, force: true });
  const foreign = arch !== process.arch;
  const options = [
    '--variant=minbase',
    `--arch=${DEBIAN_NAMES[arch]}`,
    ...(foreign ? ['--foreign'] : []),
  ];
  const include = `--include=${PACKAGES.join(',')}`;
  await run('debootstrap', [...options, include, RELEASE, folder, mirror(), SCRIPT]);
  if (foreign) await extractArchives(folder);
  writeFileSync(made, wanted);
}

/** What debootstrap would install with programs of the other architecture. */
async function extractArchives(folder) {
  const archives = join(folder, 'var/cache/apt/archives');
  for (const name of readdirSync(archives).filter((each) => each.endsWith('.deb'))) {
    await run('dpkg-deb', ['--extract', join(archives, name), folder]);
  }
}

async function installPackage(arch, app) {
  announce(`installing the package for ${arch}`);
  await compile(arch);
  rmSync(app, { recursive: true, force: true });
  mkdirSync(app);
  const npm = (...args) => execFileSync('npm', args, { cwd: root, encoding: 'utf8' });
  const packed = npm('pack', '--json', '--ignore-scripts', `--pack-destination=${app}`);
  const [{ filename }] = JSON.parse(packed);
  writeFileSync(join(app, 'package.json'), '{ "private": true, "type": "module" }\n');
  npm('install', `--prefix=${app}`, '--no-audit', '--no-fund', join(app, filename));
  copyFileSync(join(root, 'test/matrix/program.mjs'), join(app, 'program.mjs'));
}
