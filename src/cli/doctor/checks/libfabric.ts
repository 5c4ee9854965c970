import { type Check, error, type Group, note, ok, skipped, warning } from '../check.js';
import { installed, mapped } from '../libraries.js';
import { atLeast } from '../library.js';
import type { Machine } from '../machine.js';

const LEAST = '1.17';
const EFA_FOLDER = '/opt/amazon/efa/';
const INSTALLER = 'https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html';
const INSTALL =
  'sudo apt-get install libfabric1     # Debian, Ubuntu\n' +
  'sudo dnf install libfabric          # Amazon Linux, Fedora\n' +
  `or run the EFA installer: ${INSTALLER}`;
const OTHERS = 'If one libfabric in a process uses an EFA, a second one does not see that EFA.';

const present: Check = {
  id: 'libfabric.library',
  title: 'libfabric',
  expected: `libfabric ${LEAST} or newer, loaded`,
  why: 'Everything in this package runs on it.',
  matters: 'always',
  look({ env, library: { loaded, error: reason } }) {
    if (loaded === null) return error(...failureOf(reason, env));
    const found = `${loaded.version}, ${loaded.path ?? 'from an unknown file'}`;
    if (atLeast(loaded.version, LEAST)) return ok(found);
    return error(found, `Update libfabric, or run the EFA installer: ${INSTALLER}`);
  },
};

/** What happened when libfabric was loaded, and what to do. */
function failureOf(reason: Error, env: Machine['env']): [found: string, fix: string] {
  const { message } = reason;
  if (!('code' in reason)) {
    // The process was killed; libfabric may have named the variable.
    const named = Object.keys(env).filter((name) => /^FI_/.test(name) && message.includes(name));
    const otherwise = 'See Environment, below. If those checks pass, update libfabric.';
    return [message, named.length > 0 ? `unset ${named.join(' ')}` : otherwise];
  }
  const at = message.search(/^(Install|Update|Use|The package) /m);
  if (at <= 0 || reason.code === 'ERR_LIBFABRIC_NOT_FOUND') {
    return [at <= 0 ? message : message.slice(0, at).trimEnd(), INSTALL];
  }
  return [message.slice(0, at).trimEnd(), message.slice(at)];
}

const oneInProcess: Check = {
  id: 'libfabric.process',
  title: 'One libfabric in the process',
  expected: 'one file',
  why: OTHERS,
  matters: 'always',
  look(machine) {
    const files = mapped(machine, 'libfabric');
    if (files.length === 0) return skipped('none is loaded');
    if (files.length === 1) return ok(`${files[0]}`);
    const preloaded = machine.env.LD_PRELOAD;
    return error(
      files.join(', '),
      preloaded !== undefined && /libfabric[^/:\s]*\.so/.test(preloaded)
        ? `Take libfabric out of LD_PRELOAD (${preloaded}).`
        : `To make the process use one: export LD_LIBRARY_PATH=${folderOf(preferred(files))}`,
    );
  },
};

const oneOnMachine: Check = {
  id: 'libfabric.machine',
  title: 'One libfabric on the machine',
  expected: "one, or the EFA installer's in use",
  why: `Which one a program gets depends on how it was linked. ${OTHERS}`,
  matters: 'always',
  look(machine) {
    const files = installed(machine, 'libfabric');
    const path = machine.library.loaded?.path ?? null;
    if (files.length === 0) return skipped('none in the usual places');
    if (files.length === 1) return ok(`${files[0]}`);
    const best = preferred(files);
    const fix = `To have every program use one:\nexport LD_LIBRARY_PATH=${folderOf(best)}`;
    const found = files.map((file) => (file === path ? `${file} (in use)` : file)).join(', ');
    const installersIsIdle = best.startsWith(EFA_FOLDER) && best !== path;
    return installersIsIdle ? warning(found, fix) : note(found, fix);
  },
};

const efaProvider: Check = {
  id: 'libfabric.efa',
  title: 'The efa provider in libfabric',
  expected: 'a libfabric that was built with efa',
  why: 'Without it libfabric has no EFA, whatever the device and the driver.',
  matters: 'always',
  look(machine) {
    const { loaded } = machine.library;
    if (loaded === null) return skipped('no libfabric');
    const defined = loaded.params.some(({ name }) => name.startsWith('FI_EFA_'));
    // Without a device the provider may define no parameters, but its libraries are still mapped.
    const linked = mapped(machine, 'libefa');
    if (defined || linked.length > 0) return ok('built in');
    return error(
      `${loaded.path ?? 'libfabric'} has none`,
      'Install a libfabric with efa: that of Debian, Ubuntu or Amazon Linux has it, and so does the\n' +
        `EFA installer's: ${INSTALLER}`,
    );
  },
};

/** The file of the EFA installer, if there is one. */
function preferred(files: readonly string[]): string {
  return files.find((file) => file.startsWith(EFA_FOLDER)) ?? (files[0] as string);
}

const folderOf = (file: string) => file.slice(0, file.lastIndexOf('/'));

export const libfabric: Group = {
  title: 'libfabric',
  checks: [present, oneInProcess, oneOnMachine, efaProvider],
};

/** Whether libfabric has efa. */
export const hasEfaProvider = (machine: Machine): boolean =>
  efaProvider.look(machine).status === 'ok';
