// Makes a clone ready: system packages, npm packages, the native build, the TypeScript build. A step
// is skipped when what it gives is already there, so a second run takes no time and says nothing.
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nativeAddon } from './setup/native.mjs';
import { npmPackages } from './setup/npm.mjs';
import { SetupError } from './setup/step.mjs';
import { systemPackages } from './setup/system.mjs';
import { typescript } from './setup/typescript.mjs';
import { vendored } from './setup/vendor.mjs';

const OLDEST_NODE = [20, 19];

function checkPlatform() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    const oldest = OLDEST_NODE.join('.');
    throw new SetupError(
      `Node ${process.version} is too old: ${oldest} or newer is needed (https://nodejs.org).`,
    );
  }
  if (process.platform !== 'linux') {
    throw new SetupError(`libfabric is built on Linux only, and this is ${process.platform}.`);
  }
}

/** Does every step that has something to do. Throws SetupError with what went wrong. */
export function setup() {
  checkPlatform();
  systemPackages();
  npmPackages();
  nativeAddon();
  typescript();
  vendored();
}

/** Runs a script's main function; a SetupError is printed and ends the process with status 1. */
export function runMain(main) {
  try {
    main();
  } catch (error) {
    console.error(error instanceof SetupError ? error.message : error);
    process.exit(1);
  }
}

const script = process.argv[1] && realpathSync(process.argv[1]);
if (script === fileURLToPath(import.meta.url)) runMain(setup);
