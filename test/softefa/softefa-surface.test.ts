// Softefa overrides all functions of libibverbs and libefa that access a device. A function without an
// override would follow pointers that softefa's devices do not have.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { build } from '../support/native-tests.js';
import { preloading } from '../support/preload.js';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('../../build/softefa-tests/plain', import.meta.url));
const softefa = `${folder}/libsoftefa.so`;

// Functions that need no device, or never get one of softefa's, by patterns of their names.
const NOT_OVERRIDDEN: readonly [RegExp, string][] = [
  [/^ibv_cmd_/, 'kernel commands of drivers, with contexts of these drivers'],
  [/^(__ioctl_final_num_attrs|execute_ioctl)$/, 'ioctls of drivers'],
  [/^(__verbs_log|_verbs_init_and_alloc_context)$/, 'drivers create their contexts with them'],
  [/^verbs_(init_cq|set_ops|uninit_context|allow_disassociate_destroy)$/, 'for drivers'],
  [/^(ibv|verbs)_register_driver(_\d+)?$/, 'adds a driver, which then finds no device'],
  [/^ibv_(read_ibdev_sysfs_file|dmabuf_heap_\w+)$/, 'take structures of drivers'],
  [/^ibv_(get_sysfs_path|read_sysfs_file)$/, 'read files'],
  [/^ibv_copy_\w+_kern$/, 'copy between two structures'],
  [/^ibv_do(nt)?fork_range$/, 'madvise(2) of memory'],
  [/^ibv_(event_type|node_type|port_state|wc_status|wr_opcode)_str$/, 'convert numbers to names'],
  [/^(ibv_rate_to_\w+|\w+_to_ibv_rate)$/, 'convert numbers to numbers'],
];

async function symbols(file: string, which: string): Promise<string[]> {
  const { stdout } = await run('nm', ['-D', which, file]);
  const names = stdout.split('\n').map((line) => line.split(' ').at(-1)?.replace(/@.*/, '') ?? '');
  return [...new Set(names)].filter((name) => /^_*[a-z]/.test(name));
}

async function installed(library: string): Promise<string> {
  const { stdout } = await run('g++', [`-print-file-name=${library}`]);
  return stdout.trim();
}

await build('plain');
const overridden = await symbols(softefa, '--defined-only');

test.each(['libibverbs.so.1', 'libefa.so.1'])(
  'every function of %s is overridden',
  async (library) => {
    const exported = await symbols(await installed(library), '--defined-only');
    expect(exported.length).toBeGreaterThan(5);
    const missing = exported.filter(
      (name) =>
        !overridden.includes(name) && !NOT_OVERRIDDEN.some(([pattern]) => pattern.test(name)),
    );
    expect(missing).toEqual([]);
  },
);

test('the tests of softefa call every function that it overrides', async () => {
  const called = await symbols(`${folder}/tests`, '--undefined-only');
  expect(overridden.filter((name) => !called.includes(name))).toEqual([]);
});

// Runs a program of ibverbs-utils. Returns undefined if it is not installed.
async function utility(command: string, ...args: string[]): Promise<string | undefined> {
  const directory = mkdtempSync('/dev/shm/softefa-utility-');
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SOFTEFA_'));
  const own = { ...preloading(softefa), SOFTEFA_DIRECTORY: directory };
  const env = { ...Object.fromEntries(inherited), ...own };
  try {
    return (await run(command, args, { env })).stdout;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ENOENT') return undefined;
    throw error;
  }
}

test('ibv_devices lists the device', async (context) => {
  const output = await utility('ibv_devices');
  if (output === undefined) return context.skip('needs ibv_devices of ibverbs-utils');
  expect(output).toMatch(/^ *softefa_0 +\t736f667400000001$/m);
});

test('ibv_devinfo -v prints the device, its port and its GID', async (context) => {
  const output = await utility('ibv_devinfo', '-v');
  if (output === undefined) return context.skip('needs ibv_devinfo of ibverbs-utils');
  const fields = Object.fromEntries(
    [...output.matchAll(/^\s*([^:\n]+?):\s*(\S.*)$/gm)].map(([, name, value]) => [name, value]),
  );
  expect(fields).toMatchObject({
    hca_id: 'softefa_0',
    transport: 'unspecified (4)',
    fw_ver: '0.0.0.0',
    vendor_id: '0x1d0f',
    vendor_part_id: String(0xefa2),
    phys_port_cnt: '1',
    max_pkeys: '1',
    state: 'PORT_ACTIVE (4)',
    active_mtu: '4096 (5)',
    link_layer: 'Unspecified',
    pkey_tbl_len: '1',
    gid_tbl_len: '1',
    'GID[  0]': 'fe80:0000:0000:0000:736f:6674:0000:0001',
  });
});
