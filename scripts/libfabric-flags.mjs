// Prints the compiler (--cflags) or linker (--libs) flags of the libfabric to build against: the EFA
// installer's in /opt/amazon/efa if it exists, otherwise the system's.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const EFA = '/opt/amazon/efa';
const efaLibDir = [`${EFA}/lib64`, `${EFA}/lib`].find((dir) => existsSync(`${dir}/libfabric.so`));

function pkgConfig(flag) {
  try {
    return execFileSync('pkg-config', [flag, 'libfabric'], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

if (process.argv.includes('--cflags')) {
  console.log(efaLibDir ? `-I${EFA}/include` : pkgConfig('--cflags'));
} else {
  const runPath = [`${EFA}/lib64`, `${EFA}/lib`].map((dir) => `-Wl,-rpath,${dir}`).join(' ');
  const link = efaLibDir ? `-L${efaLibDir} -lfabric` : pkgConfig('--libs') || '-lfabric';
  console.log(`${link} ${runPath}`);
}
