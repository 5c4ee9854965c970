// The binaries of the package for an architecture, and their paths.
import { join } from 'node:path';
import { root } from '../setup/step.mjs';

export const ARCHITECTURES = ['x64', 'arm64'];

/** The addons, and the library that softefa preloads into a process. */
export { BINARIES } from '../native-build.mjs';

export const prebuildFolder = (arch) => join(root, 'prebuilds', `linux-${arch}`);
