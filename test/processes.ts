// Which test files run, and which of them share a process. Each project of vitest.config.ts is one kind of file.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/**
 * - `unit`: no provider.
 * - `polling`: commands whose two sides poll, each on its core.
 * - `own`: a process for each file, because it changes what all files of a process have in common: it sets variables, loads
 *   a fake library, lets the device fail, or leaves something behind. Or it counts resources of its process or the device.
 *   Or it starts processes that use the device.
 * - `softefa`: on a software device that all files of a process share.
 * - `plain`: all others. They see the machine as it is.
 */
export type Kind = 'unit' | 'polling' | 'own' | 'softefa' | 'plain';

const POLLING = /^test\/cli\/(cli-start|transfer\/|fabtests\/(benchmarks|common|functional)\/)/;
const OWN =
  /support\/(accelerator|cuda-memory|default-queues|device-memory|direct-.+|efa-defaults|fake-.+|four-nics|preload|short-timeout)\.ts$/;
const OF_DEVICE = /^test\/(documents|efa|process|provider-limits|softefa|verbs|worker)\//;
const STARTS_PROCESSES =
  /withSoftefa|softefaEnvironment|support\/(command|lifecycle|node-pair|other-process|pingpong|process-pair|receiver|services|sides)\.js/;
const CHANGES_PROCESS = /^\s*process\.env\S* \S*= |testFaults|SoftefaFaults/m;
const COUNTS_ITS_OWN = /\/proc\/self|cpuUsage|dumpState|memoryUsage|sharedMemoryOf\(process\.pid\)/;

const textOf = (file: string) => readFileSync(file, 'utf8');

const imports = new Map<string, Set<string>>();

/** The modules of the tests that a file imports, itself or through others. */
function importsOf(file: string): Set<string> {
  const known = imports.get(file);
  if (known) return known;
  const found = new Set<string>();
  imports.set(file, found);
  for (const [, specifier = ''] of textOf(file).matchAll(
    /^(?:import|\} from|.* from) '(\.[^']+)';/gm,
  )) {
    const module = normalize(join(dirname(file), specifier)).replace(/\.js$/, '.ts');
    if (!module.startsWith('test/') || !existsSync(module)) continue;
    for (const each of [module, ...importsOf(module)]) found.add(each);
  }
  return found;
}

function kindOf(file: string): Kind {
  if (file.endsWith('.unit.test.ts')) return 'unit';
  if (POLLING.test(file)) return 'polling';
  const modules = [...importsOf(file)];
  const onDevice = modules.includes('test/support/softefa.ts');
  const text = textOf(file);
  const changes = CHANGES_PROCESS.test(text) || modules.some((each) => OWN.test(each));
  if (changes || COUNTS_ITS_OWN.test(text)) return 'own';
  if (!onDevice) return 'plain';
  return OF_DEVICE.test(file) || STARTS_PROCESSES.test(text) ? 'own' : 'softefa';
}

const files = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `test/${name}`);

/** Whether a file belongs to the tier in LIBFABRIC_TESTS: test/support/cases.ts. */
function isOfTier(file: string): boolean {
  const isSlow = file.endsWith('.slow.test.ts');
  if (process.env.LIBFABRIC_TESTS === 'all') return true;
  if (process.env.LIBFABRIC_TESTS !== 'slow') return !isSlow;
  return isSlow || textOf(file).includes("support/cases.js'");
}

/** The files of the tier by their kind. */
export const filesByKind: Readonly<Record<Kind, string[]>> = {
  unit: [],
  polling: [],
  own: [],
  softefa: [],
  plain: [],
};
for (const file of files.filter(isOfTier)) filesByKind[kindOf(file)].push(file);
