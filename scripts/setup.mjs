// Prepares a clone: system packages, npm packages, the native build, the TypeScript build. A step whose
// result is up to date is skipped, so a second run is fast and prints nothing.
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nativeAddon } from './setup/native.mjs';
import { npmPackages } from './setup/npm.mjs';
import { SetupError, together } from './setup/step.mjs';
import { systemPackages } from './setup/system.mjs';
import { typescript } from './setup/typescript.mjs';
import { vendored } from './setup/vendor.mjs';

const OLDEST_NODE = [20, 19];

function checkPlatform() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    const oldest = OLDEST_NODE.join('.');
    throw new SetupError(
      `Node ${process.version} is too old; install ${oldest} or newer (https://nodejs.org).`,
    );
  }
  if (process.platform !== 'linux') {
    throw new SetupError(`The package can be built only on Linux, not on ${process.platform}.`);
  }
}

/** Runs every step whose result is not up to date. Throws SetupError on failure. */
export async function setup() {
  checkPlatform();
  const npm = npmPackages();
  await together(
    together(systemPackages(), npm).then(nativeAddon),
    npm.then(typescript).then(vendored),
  );
}

/** Runs a script's main function. Prints a SetupError and ends the process with status 1. */
export async function runMain(main) {
  try {
    await main();
  } catch (error) {
    console.error(error instanceof SetupError ? error.message : error);
    process.exit(1);
  }
}

const script = process.argv[1] && realpathSync(process.argv[1]);
if (script === fileURLToPath(import.meta.url)) await runMain(setup);
