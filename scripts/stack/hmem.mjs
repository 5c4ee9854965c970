// A libfabric for CUDA, GDRCopy and Neuron without their toolkits: from Debian's source package, with the declarations in
// test/programs/fake-*/include. libfabric looks the functions up at run time, where the tests load fakes.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { announce, digest, filesBelow, root, run } from '../setup/step.mjs';
import { onPath, systemPackages } from '../setup/system.mjs';
import { downloadSource } from './source-package.mjs';

const RELEASE = 'trixie'; // libfabric 2.1; that of bookworm has no efa-direct and no dmabufs
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
  const archive = await downloadSource(RELEASE, 'libfabric', folder);
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
