// Finds the libfabric to build against: the EFA installer's, otherwise pkg-config's, otherwise the system's.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export const OLDEST = '1.17';

function pkgConfigIncludeDir() {
  try {
    const args = ['--variable=includedir', 'libfabric'];
    const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('pkg-config', args, options).trim();
  } catch {
    return undefined;
  }
}

/** `{ header, version }` of the installed libfabric; undefined if there is none. */
export function findLibfabric() {
  const candidates = [() => '/opt/amazon/efa/include', pkgConfigIncludeDir, () => '/usr/include'];
  for (const candidate of candidates) {
    const header = `${candidate()}/rdma/fabric.h`;
    try {
      const text = readFileSync(header, 'utf8');
      const part = (name) => text.match(new RegExp(`#define\\s+${name}\\s+(\\d+)`))?.[1] ?? '0';
      return { header, version: `${part('FI_MAJOR_VERSION')}.${part('FI_MINOR_VERSION')}` };
    } catch {
      // Not found: try the next one.
    }
  }
  return undefined;
}

/** Whether version a.b is at least version c.d. */
export function atLeast(version, oldest) {
  const [a, b] = version.split('.').map(Number);
  const [c, d] = oldest.split('.').map(Number);
  return a > c || (a === c && b >= d);
}
