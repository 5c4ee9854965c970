// A libfabric for CUDA, GDRCopy and Neuron without their toolkits: from Debian's source package, with the declarations in
// test/programs/fake-*/include. libfabric looks the functions up at run time, where the tests load fakes.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { announce, digest, filesBelow, root, run, SetupError } from '../setup/step.mjs';
import { onPath, systemPackages } from '../setup/system.mjs';
import { mirror } from './debian.mjs';

const RELEASE = 'trixie'; // libfabric 2.1; that of bookworm has no efa-direct and no dmabufs
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const FAKES = ['cuda', 'neuron'].map((name) => `test/programs/fake-${name}`);
const tool = (name) => ({ name, present: () => onPath(name), apt: [name], dnf: [name] });
const TOOLS = [
  tool('make'),
  tool('gcc'),
  tool('autoconf'),
  tool('automake'),
  { ...tool('libtool'), present: () => onPath('libtoolize') },
  { ...tool('xz'), apt: ['xz-utils'] },
  {
    name: 'the headers of rdma-core',
    present: () => existsSync('/usr/include/infiniband/efadv.h'),
    apt: ['libibverbs-dev'],
    dnf: ['rdma-core-devel'],
  },
];

const folder = join(root, 'build-hmem');

// Downloads the source package without the machine's own lists. Debian's patches are of its packaging.
async function download() {
  if (!onPath('apt-get') || !existsSync(KEYRING)) {
    throw new SetupError(
      "Debian's source package needs apt-get and the package debian-archive-keyring",
    );
  }
  const lists = join(folder, 'lists');
  mkdirSync(join(lists, 'partial'), { recursive: true });
  const sources = join(folder, 'sources.list');
  writeFileSync(sources, `deb-src [signed-by=${KEYRING}] ${mirror()} ${RELEASE} main\n`);
  const apt = (command) => {
    const options = [
      `Dir::Etc::SourceList=${sources}`,
      'Dir::Etc::SourceParts=/dev/null',
      `Dir::State::Lists=${lists}`,
      `Dir::Cache=${join(folder, 'cache')}`,
      'APT::Sandbox::User=root',
    ].flatMap((option) => ['-o', option]);
    return run('sh', ['-c', 'cd "$0" && exec apt-get "$@"', folder, ...options, ...command]);
  };
  await apt(['update']);
  await apt(['source', '--download-only', '--tar-only', 'libfabric']);
  const archive = readdirSync(folder).find((name) => /^libfabric_.*\.orig\.tar\./.test(name));
  if (archive === undefined) throw new SetupError(`apt-get has left no archive in ${folder}`);
  return archive;
}

/** Builds the libfabric, unless it was built from the same declarations. Returns its folder. */
export async function makeHmemLibfabric() {
  const prefix = join(folder, 'prefix');
  const made = join(folder, 'made');
  const wanted = digest([...filesBelow(...FAKES.map((fake) => `${fake}/include`))]);
  if (existsSync(made) && readFileSync(made, 'utf8') === wanted) return prefix;
  await systemPackages(TOOLS);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  announce(`building libfabric of Debian ${RELEASE} with CUDA, GDRCopy and Neuron in ${folder}`);
  const source = join(folder, 'source');
  mkdirSync(source);
  const archive = join(folder, await download());
  await run('tar', ['-xf', archive, '-C', source, '--strip-components=1']);
  const [cuda, neuron] = FAKES.map((fake) => join(root, fake));
  const configure = [
    `--prefix=${prefix}`,
    ...['--disable-static', '--enable-only', '--enable-efa'],
    ...['--enable-cuda-dlopen', `--with-cuda=${cuda}`],
    ...['--enable-gdrcopy-dlopen', `--with-gdrcopy=${cuda}`, `--with-neuron=${neuron}`],
  ];
  const jobs = process.env.JOBS ?? availableParallelism();
  const steps = ['cd "$0"', './autogen.sh', './configure "$@"', `make -j${jobs}`, 'make install'];
  await run('sh', ['-c', steps.join(' && '), source, ...configure], {
    what: 'the build of libfabric',
  });
  rmSync(source, { recursive: true });
  writeFileSync(made, wanted);
  return prefix;
}
