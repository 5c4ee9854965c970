import type { Param } from '../../../contract/info-types.js';
import { type Check, error, type Group, note, ok, skipped, warning } from '../check.js';
import {
  booleanOf,
  isOff,
  isOn,
  RDMA_CORE,
  SETTINGS,
  type Unread,
  unread,
} from '../environment-variables.js';
import { isEfa, type Machine } from '../machine.js';
import { isReadBy, releasesOf } from '../variable-releases.js';

const LOG_LEVELS = ['warn', 'trace', 'info', 'debug'];

type Setting = readonly [name: string, value: string];

/** The variables of libfabric and rdma-core that are set. */
function settingsOf({ env }: Machine): Setting[] {
  return Object.entries(env)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .filter(([name]) => /^(FI|RDMAV|IBV|VERBS)_/.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

const paramsOf = ({ library }: Machine): Map<string, Param> =>
  new Map((library.loaded?.params ?? []).map((param) => [param.name, param]));

const set: Check = {
  id: 'environment.set',
  title: 'Variables that are set',
  expected: 'none, or only intended ones',
  why: 'They change the behaviour of libfabric and rdma-core in every program that is started with them.',
  matters: 'always',
  look(machine) {
    const params = paramsOf(machine);
    const known = settingsOf(machine).filter(([name]) => {
      const { loaded } = machine.library;
      const varies = loaded !== null && isReadBy(name, loaded.version);
      return params.has(name) || SETTINGS.has(name) || RDMA_CORE.has(name) || varies;
    });
    if (known.length === 0) return ok('none');
    const found = known.map(([name, value]) => `${name}=${value}`).join('\n');
    const names = known.map(([name]) => name).join(' ');
    return note(found, `What they do: npx libfabric info -e. Without them: unset ${names}`);
  },
};

const unknown: Check = {
  id: 'environment.unknown',
  title: 'Variables that nothing reads',
  expected: 'no FI_* or RDMAV_* except those of libfabric and rdma-core',
  why: 'A variable that is misspelt or of another release has no effect, and no program reports it.',
  matters: 'always',
  look(machine) {
    const { loaded } = machine.library;
    if (loaded === null) return skipped('no libfabric that could list its variables');
    const found = settingsOf(machine).flatMap(([name]) => unread(name, loaded));
    if (found.length === 0) return ok('none');
    return warning(
      found.map(({ name }) => name).join(', '),
      found.map((each) => `unset ${each.name}     # ${reasonOf(each, loaded.version)}`).join('\n'),
    );
  },
};

function reasonOf({ releases, nearest = '' }: Unread, version: string): string {
  if (releases !== undefined) return `libfabric ${releases} read it, ${version} does not`;
  const others = isReadBy(nearest, version) ? undefined : releasesOf(nearest);
  return `did you mean ${nearest}?${others === undefined ? '' : ` libfabric ${others} read it`}`;
}

const values: Check = {
  id: 'environment.values',
  title: 'Values of variables',
  expected: 'a number or a boolean (0, 1, off, on, no, yes, false, true), as the variable requires',
  why: 'libfabric ignores a value that it cannot parse, and uses the default.',
  matters: 'always',
  look(machine) {
    const params = paramsOf(machine);
    const wrong = settingsOf(machine).filter(([name, value]) => !reads(params.get(name), value));
    const level = machine.env.FI_LOG_LEVEL;
    const bad = level !== undefined && !LOG_LEVELS.includes(level.toLowerCase());
    if (bad) wrong.push(['FI_LOG_LEVEL', level]);
    if (wrong.length === 0) return ok('all are valid');
    const more = bad
      ? `\nLevels are ${LOG_LEVELS.join(', ')}; libfabric 2.1 and 2.2 may crash on another.`
      : '';
    return warning(
      wrong.map(([name, value]) => `${name}=${value}`).join(', '),
      `unset ${wrong.map(([name]) => name).join(' ')}${more}`,
    );
  },
};

function reads(param: Param | undefined, value: string): boolean {
  switch (param?.type) {
    case 'FI_PARAM_BOOL':
      return booleanOf(value) !== undefined;
    case 'FI_PARAM_INT':
      return /^\s*[+-]?(0x[\da-f]+|\d+)$/i.test(value);
    case 'FI_PARAM_SIZE_T':
      return /^\s*\+?(0x[\da-f]+|\d+)$/i.test(value);
    default:
      return true;
  }
}

const providers: Check = {
  id: 'environment.selection',
  title: 'Excluded providers and devices',
  expected: 'neither efa (FI_PROVIDER) nor its devices (FI_EFA_IFACE)',
  why: 'libfabric then offers no EFA, and reports nothing about it.',
  matters: 'with-efa',
  look({ env, devices }) {
    const { FI_PROVIDER: provider, FI_EFA_IFACE: iface } = env;
    if (provider && !allowsEfa(provider)) {
      return error(`FI_PROVIDER=${provider} leaves efa out`, 'unset FI_PROVIDER');
    }
    if (!iface || iface === 'all') return ok('nothing');
    const names = devices.filter(isEfa).map(({ name }) => name);
    const kept = names.filter((name) => iface.split(',').includes(name));
    if (kept.length === 0) {
      return error(
        `FI_EFA_IFACE=${iface}, and the devices are ${names.join(', ')}`,
        'unset FI_EFA_IFACE',
      );
    }
    return ok(`FI_EFA_IFACE leaves ${kept.join(', ')}`);
  },
};

/** FI_PROVIDER: names separated by commas. A leading ^ excludes them. */
function allowsEfa(provider: string): boolean {
  const excludes = provider.startsWith('^');
  const names = provider.replace('^', '').split(/[,;]/);
  return names.includes('efa') !== excludes;
}

const speed: Check = {
  id: 'environment.speed',
  title: 'Variables that cost speed',
  expected: 'none of them',
  why: 'They are for debugging and are easily forgotten.',
  matters: 'with-efa',
  look(machine) {
    const { env } = machine;
    const lacks = machine.devices.some(({ efa }) => efa && !efa.capabilities.includes('RDMA_READ'));
    if (isOn(env.FI_EFA_USE_DEVICE_RDMA) && lacks) {
      return error(
        'FI_EFA_USE_DEVICE_RDMA=1: without RDMA in the device efa aborts the process',
        'unset FI_EFA_USE_DEVICE_RDMA',
      );
    }
    const slow = slowSettings(env);
    if (slow.length === 0) return ok('none');
    const names = slow.map(([name]) => name);
    return warning(
      slow.map(([name, effect]) => `${name}=${env[name]}: ${effect}`).join('\n'),
      `unset ${names.join(' ')}`,
    );
  },
};

function slowSettings(env: Machine['env']): [name: string, effect: string][] {
  const slow: [string, string, boolean][] = [
    [
      'FI_LOG_LEVEL',
      'prints a line for every operation',
      /^(trace|info|debug)$/i.test(env.FI_LOG_LEVEL ?? ''),
    ],
    ['FI_EFA_USE_DEVICE_RDMA', 'RMA is done with messages', isOff(env.FI_EFA_USE_DEVICE_RDMA)],
    [
      'FI_EFA_MR_CACHE_ENABLE',
      'memory is registered for every transfer',
      isOff(env.FI_EFA_MR_CACHE_ENABLE),
    ],
    [
      'FI_MR_CACHE_MAX_COUNT',
      'memory is registered for every transfer',
      env.FI_MR_CACHE_MAX_COUNT === '0',
    ],
    [
      'FI_MR_CACHE_MONITOR',
      'memory is registered for every transfer',
      env.FI_MR_CACHE_MONITOR === 'disabled',
    ],
    [
      'FI_EFA_USE_DATA_PATH_DIRECT',
      'efa reaches the device through rdma-core',
      isOff(env.FI_EFA_USE_DATA_PATH_DIRECT),
    ],
    [
      'RDMAV_HUGEPAGES_SAFE',
      'every registration looks for huge pages',
      env.RDMAV_HUGEPAGES_SAFE !== undefined,
    ],
  ];
  return slow.flatMap(([name, effect, applies]) => (applies ? [[name, effect]] : []));
}

export const environment: Group = {
  title: 'Environment',
  checks: [providers, speed, unknown, values, set],
};
