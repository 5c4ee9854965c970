// `npm run suite -- includes`: compiles each source and header of native/ alone. The ordinary build compiles many sources as
// one unit, which hides a missing #include. The engine must compile without node-addon-api. Counts files.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CFLAGS, DEFINES } from '../native-build.mjs';
import { nodeHeaders } from '../setup/clang.mjs';
import { announce, filesBelow, inParallel, root } from '../setup/step.mjs';
import { setup } from '../setup.mjs';

/** Folders whose files need nothing of Node.js but `node_api.h` and libuv. */
const WITHOUT_NODE_ADDON_API = /^native\/(util|providers|engine|objects|transfer|softefa)\//;

/** The flags of libfabric. */
async function fabricFlags() {
  const args = ['scripts/libfabric-flags.mjs', '--cflags'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  return stdout.trim().split(/\s+/).filter(Boolean);
}

/** Compiles a file that includes only this one. Returns the compiler's messages if it fails. */
async function messages(file, flags) {
  const compiling = promisify(execFile)(
    process.env.CXX ?? 'g++',
    [...flags, '-fsyntax-only', '-I', '.', '-x', 'c++', '-'],
    { cwd: root, maxBuffer: 1 << 26 },
  );
  compiling.child.stdin.end(`#include "${file}"\n`);
  try {
    await compiling;
    return undefined;
  } catch ({ stderr }) {
    return stderr;
  }
}

export default async function includes() {
  await setup();
  announce('compiling each file of the C++ alone');
  const common = [
    ...CFLAGS,
    ...DEFINES.map((name) => `-D${name}`),
    '-DNODE_GYP_MODULE_NAME=alone',
    '-Werror',
    ...['-isystem', nodeHeaders()],
    ...(await fabricFlags()),
  ];
  const nodeAddonApi = ['-isystem', join(root, 'node_modules/node-addon-api')];
  const files = filesBelow('native').filter((file) => /\.(cc|h)$/.test(file));
  let failed = 0;
  await inParallel(files, async (file) => {
    const more = WITHOUT_NODE_ADDON_API.test(file) ? [] : nodeAddonApi;
    const text = await messages(file, [...common, ...more]);
    if (text === undefined) return;
    failed += 1;
    console.log(`${text}\nfailed: ${file} does not compile alone`);
  });
  return { passed: files.length - failed, failed };
}
