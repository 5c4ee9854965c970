import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import {
  errnoByCode,
  getInfo,
  getParams,
  type Info,
  infoToString,
  libraryPath,
  strerror,
  version,
} from 'libfabric';
import { describe, expect, test } from 'vitest';

test('libraryPath() returns the real path of the libfabric in this process', () => {
  const path = libraryPath() ?? '';
  expect(path).toMatch(/^\/.*\/libfabric\.so/);
  expect(existsSync(path) && realpathSync(path)).toBe(path);
  const maps = readFileSync('/proc/self/maps', 'utf8');
  expect(maps).toContain(path);
  expect(path).not.toContain('.node');
});

test('version() has the versions of the library, the headers and the requested API', () => {
  const { major, minor, patch, string, builtWith, apiVersion } = version();
  expect(string).toMatch(new RegExp(`^${major}\\.${minor}`));
  expect(string).toContain(`${major}.${minor}${patch === undefined ? '' : `.${patch}`}`);
  expect(builtWith).toMatch(/^\d+\.\d+$/);
  const newer = major > 2 || (major === 2 && minor > 6);
  expect(apiVersion).toBe(newer ? '2.6' : `${major}.${minor}`);
  expect(major * 1000 + minor).toBeGreaterThanOrEqual(1017);
  expect(Object.isFrozen(version())).toBe(true);
});

describe('strerror', () => {
  test('has a text for every error of the table', () => {
    expect(strerror(errnoByCode.FI_ETRUNC)).toBe('Truncation error');
    for (const errno of Object.values(errnoByCode)) expect(strerror(errno)).not.toBe('');
  });

  test.each([-1, 1.5, Number.NaN, 2 ** 31, 2 ** 53 + 2, 2n ** 64n])('refuses %s', (errno) => {
    expect(() => strerror(errno as number)).toThrow(
      expect.objectContaining({ code: 'ERR_OUT_OF_RANGE' }),
    );
  });

  test.each(['265', null, undefined, {}])('refuses %s', (errno) => {
    expect(() => strerror(errno as unknown as number)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }),
    );
  });
});

test('getParams() lists the environment variables of libfabric with their values', () => {
  process.env.FI_LOG_PROV = 'core';
  const params = getParams();
  expect(params).toContainEqual({
    name: 'FI_LOG_PROV',
    type: 'FI_PARAM_STRING',
    helpString: expect.stringMatching(/./),
    value: 'core',
  });
  delete process.env.FI_LOG_PROV;
  const after = getParams().find(({ name }) => name === 'FI_LOG_PROV');
  expect(after?.value).toBe(null);
  expect(params.every(({ name }) => name.startsWith('FI_'))).toBe(true);
  expect(Object.isFrozen(after)).toBe(true);
});

test("infoToString() returns libfabric's text of an entry, and refuses other objects", () => {
  for (const info of getInfo()) {
    const text = infoToString(info);
    expect(text).toMatch(/^fi_info:\n/);
    expect(text).toContain(`prov_name: ${info.fabricAttr.provName}\n`);
    expect(text).toContain(`max_msg_size: ${info.epAttr.maxMsgSize}\n`);
  }
  const [copy] = getInfo().map((info) => ({ ...info }));
  expect(() => infoToString(copy!)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }),
  );
});

function run(...args: string[]): string | undefined {
  try {
    return execFileSync('fi_info', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return undefined;
  }
}

// Reads one entry of `fi_info -v`: returns the value of a label, in the given structure.
function reader(text: string) {
  return (label: string, struct = 'fi_info') => {
    const section = text.slice(text.indexOf(`${struct}:`));
    return new RegExp(`^ *${label}: (.*)$`, 'm').exec(section)?.[1]?.trim() ?? '';
  };
}

const names = (list: string) =>
  list
    .replace(/[[\],]/g, ' ')
    .trim()
    .split(/\s+/)
    .filter(Boolean);

// The address of shm contains the pid, which may have more digits.
const isShm = (provider: string | null | undefined) => provider === 'shm';

function describeShown(text: string): string {
  const shown = reader(text);
  return JSON.stringify({
    caps: names(shown('caps')).sort(),
    mode: names(shown('mode')).sort(),
    addrFormat: shown('addr_format'),
    srcAddrLength: isShm(shown('prov_name')) ? 0 : Number(shown('src_addrlen')),
    msgOrder: names(shown('msg_order', 'fi_tx_attr')).sort(),
    injectSize: shown('inject_size', 'fi_tx_attr'),
    txSize: shown('size', 'fi_tx_attr'),
    rxIovLimit: shown('iov_limit', 'fi_rx_attr'),
    type: shown('type', 'fi_ep_attr'),
    protocol: shown('protocol', 'fi_ep_attr'),
    maxMsgSize: shown('max_msg_size', 'fi_ep_attr'),
    memTagFormat: BigInt(shown('mem_tag_format', 'fi_ep_attr')).toString(),
    txCtxCnt: shown('tx_ctx_cnt', 'fi_ep_attr'),
    domain: shown('name', 'fi_domain_attr'),
    threading: shown('threading', 'fi_domain_attr'),
    mrMode: names(shown('mr_mode', 'fi_domain_attr')).sort(),
    cqDataSize: shown('cq_data_size', 'fi_domain_attr'),
    fabric: shown('name', 'fi_fabric_attr'),
    provider: shown('prov_name', 'fi_fabric_attr'),
    version: shown('prov_version', 'fi_fabric_attr'),
  });
}

function describeEntry(info: Info): string {
  return JSON.stringify({
    caps: [...info.caps].sort(),
    mode: [...info.mode].sort(),
    addrFormat: info.addrFormat,
    srcAddrLength: isShm(info.fabricAttr.provName) ? 0 : (info.srcAddr?.length ?? 0),
    msgOrder: [...info.txAttr.msgOrder].sort(),
    injectSize: String(info.txAttr.injectSize),
    txSize: String(info.txAttr.size),
    rxIovLimit: String(info.rxAttr.iovLimit),
    type: info.epAttr.type,
    protocol: info.epAttr.protocol,
    maxMsgSize: String(info.epAttr.maxMsgSize),
    memTagFormat: String(info.epAttr.memTagFormat),
    txCtxCnt: String(info.epAttr.txCtxCnt),
    domain: info.domainAttr.name,
    threading: info.domainAttr.threading,
    mrMode: [...info.domainAttr.mrMode].sort(),
    cqDataSize: String(info.domainAttr.cqDataSize),
    fabric: info.fabricAttr.name,
    provider: info.fabricAttr.provName,
    version: info.fabricAttr.provVersion,
  });
}

test('getInfo(null) returns the entries of fi_info -v', (context) => {
  const about = run('--version');
  if (about === undefined) return context.skip('fi_info is not installed');
  const { string } = version();
  if (!about.includes(`libfabric: ${string}`)) {
    return context.skip(`fi_info belongs to another libfabric than the one in use, ${string}`);
  }
  const blocks =
    run('-v')
      ?.split(/^---$/m)
      .filter((block) => block.includes('fi_info:')) ?? [];
  expect(blocks.length).toBeGreaterThan(0);
  expect(getInfo(null).map(describeEntry)).toEqual(blocks.map(describeShown));
});

test.each([
  ['maxEpAuthKey', 1020],
  ['maxGroupId', 2000],
  ['maxCntrValue', 2005],
  ['maxErrCntrValue', 2005],
] as const)(
  '%s is in entries if the library has it, and a valid hint if the headers have it',
  (name, since) => {
    const { major, minor, builtWith } = version();
    const [headerMajor, headerMinor] = builtWith.split('.').map(Number) as [number, number];
    for (const { domainAttr } of getInfo()) {
      expect(name in domainAttr).toBe(major * 1000 + minor >= since);
    }
    if (headerMajor * 1000 + headerMinor >= since) return;
    expect(() => getInfo({ domainAttr: { [name]: 0 } })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }),
    );
  },
);
