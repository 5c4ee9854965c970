import { existsSync, readFileSync } from 'node:fs';
import { version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { native } from '../../dist/contract/native.js';

const { flags, enums } = native.nameTables();

// The names in the unions of src/base/flags.ts, by the name of the union.
const unions: Record<string, string[]> = Object.fromEntries(
  [
    ...readFileSync(new URL('../../src/base/flags.ts', import.meta.url), 'utf8').matchAll(
      /^export type (\w+) =([^;]*);/gm,
    ),
  ].map(([, name, members]) => [
    name,
    [...members!.matchAll(/'(\w+)'/g)].map((match) => match[1]!),
  ]),
);

const typeOfTable: Record<string, string> = {
  caps: 'Cap',
  mode: 'Mode',
  getinfo: 'GetInfoFlag',
  op: 'OpFlag',
  completion: 'CompletionFlag',
  msgOrder: 'MsgOrder',
  compOrder: 'CompOrder',
  mrMode: 'MrMode',
  mrAccess: 'MrAccess',
  epType: 'EpType',
  protocol: 'Protocol',
  addrFormat: 'AddrFormat',
  avType: 'AvType',
  threading: 'Threading',
  progress: 'Progress',
  resourceMgmt: 'ResourceMgmt',
  tclass: 'TrafficClass',
  busType: 'BusType',
  linkState: 'LinkState',
  cqFormat: 'CqFormat',
  waitObj: 'WaitObj',
  datatype: 'Datatype',
  atomicOp: 'AtomicOp',
  paramType: 'ParamType',
  hmemIface: 'HmemIface',
};

// The name that only the other major version has. The tables do not contain it.
const otherMajor = version().major < 2 ? 'FI_EXACT_DIRECTED_RECV' : 'FI_VARIABLE_MSG';

test.each(Object.entries({ ...flags, ...enums }))(
  'the TypeScript type has all names of %s',
  (id, table) => {
    const known = unions[typeOfTable[id]!]!.filter((name) => name !== otherMajor);
    expect(known.sort()).toEqual(Object.keys(table).sort());
  },
);

describe.each(Object.entries(flags))('flags of %s', (id, table) => {
  const byBit = new Map(
    Object.entries(table)
      .reverse()
      .map(([name, bits]) => [bits, name]),
  );

  test.each(Object.entries(table))('%s is converted to its bit and back', (name, bits) => {
    expect(native.bitsFromNames(id, [name])).toBe(bits);
    expect(native.namesFromBits(id, bits)).toEqual([byBit.get(bits)]);
    expect(bits.toString(2)).toMatch(/^10*$/);
  });

  test('bits without a name are converted to text and back', () => {
    for (let bit = 0; bit < 64; bit++) {
      const bits = 1n << BigInt(bit);
      const names = native.namesFromBits(id, bits);
      expect(names).toEqual([byBit.get(bits) ?? `bit ${bit}`]);
      expect(native.bitsFromNames(id, names)).toBe(bits);
    }
  });

  test('all 64 bits are converted to names and back', () => {
    const all = 2n ** 64n - 1n;
    const names = native.namesFromBits(id, all);
    expect(names).toHaveLength(64);
    expect(Object.isFrozen(names)).toBe(true);
    expect(native.bitsFromNames(id, names)).toBe(all);
    expect(native.bitsFromNames(id, [...names, ...names])).toBe(all);
    expect(native.namesFromBits(id, 0n)).toEqual([]);
  });
});

test('the tables are frozen', () => {
  expect(Object.isFrozen(flags) && Object.isFrozen(flags.caps)).toBe(true);
});

const headers = ['/opt/amazon/efa/include/rdma', '/usr/include/rdma'].find(existsSync);

function header(name: string): string {
  return readFileSync(`${headers}/${name}`, 'utf8');
}

// Returns every `#define FI_NAME (1ULL << n)` of the headers.
function definedBits(): Map<string, bigint> {
  const text = ['fabric.h', 'fi_domain.h', 'fi_atomic.h'].map(header).join('\n');
  const define = /^#define\s+(FI_\w+)\s+(?:_Pragma\(.*\)\s*)?\(1(?:ULL)? << (\d+)\)/gm;
  return new Map([...text.matchAll(define)].map(([, name, bit]) => [name!, 1n << BigInt(bit!)]));
}

test('names and bits agree with the headers of the installed libfabric', (context) => {
  if (!headers) return context.skip('the headers of libfabric are not installed');
  const defined = definedBits();
  let compared = 0;
  for (const [id, table] of Object.entries(flags)) {
    for (const [name, bits] of Object.entries(table)) {
      if (!defined.has(name)) continue;
      compared++;
      expect(bits, `${id}.${name}`).toBe(defined.get(name));
    }
  }
  expect(compared).toBeGreaterThan(100);
});

// Returns the names of an enum without explicit values that starts with `first`.
function enumerators(file: string, first: string): string[] {
  const text = header(file).replace(/\/\*.*?\*\//gs, '');
  const [, body] = new RegExp(`\\{\\s*(${first}\\b[^}]*)\\}`).exec(text) ?? [];
  return [...(body ?? '').matchAll(/\b(FI_\w+)\b/g)].map((match) => match[1]!);
}

test.for([
  ['epType', 'fabric.h', 'FI_EP_UNSPEC'],
  ['protocol', 'fabric.h', 'FI_PROTO_UNSPEC'],
  ['addrFormat', 'fabric.h', 'FI_FORMAT_UNSPEC'],
  ['avType', 'fabric.h', 'FI_AV_UNSPEC'],
  ['threading', 'fabric.h', 'FI_THREAD_UNSPEC'],
  ['progress', 'fabric.h', 'FI_PROGRESS_UNSPEC'],
  ['resourceMgmt', 'fabric.h', 'FI_RM_UNSPEC'],
  ['linkState', 'fabric.h', 'FI_LINK_UNKNOWN'],
  ['paramType', 'fabric.h', 'FI_PARAM_STRING'],
  ['cqFormat', 'fi_eq.h', 'FI_CQ_FORMAT_UNSPEC'],
  ['waitObj', 'fi_eq.h', 'FI_WAIT_NONE'],
] as const)('the values of %s agree with the installed headers', ([id, file, first], context) => {
  if (!headers) return context.skip('the headers of libfabric are not installed');
  const names = enumerators(file, first);
  expect(names.length).toBeGreaterThan(2);
  names.forEach((name, value) => {
    // The tables keep names of libfabric 1 that the headers of libfabric 2 no longer have.
    expect(enums[id]?.[name], name).toBe(BigInt(value));
  });
});

test('unknown names and tables are refused', () => {
  expect(() => native.bitsFromNames('caps', ['FI_TAGED'])).toThrow(/did you mean 'FI_TAGGED'/);
  expect(() => native.bitsFromNames('nonesuch', [])).toThrow(/no flag table/);
  expect(native.nearestNames('shn', ['tcp', 'shm', 'udp', 'efa'])).toMatch(/^'shm', /);
  expect(() => native.nearestNames('x', [1] as unknown as string[])).toThrow(TypeError);
  expect(() => native.namesFromBits('caps', 1 as unknown as bigint)).toThrow(TypeError);
});
