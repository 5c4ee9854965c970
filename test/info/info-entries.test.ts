import { type AnyInfo, getInfo, type Info, providers } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { native } from '../../dist/contract/native.js';
import { infoHandle } from '../../dist/info/info.js';

const entries = getInfo(null);
const flagPattern = /^(FI_[A-Z0-9_]+|bit \d+)$/;

// Yields every value in an entry with its path, including containers.
function* walk(value: unknown, path = 'info'): Generator<[path: string, value: unknown]> {
  yield [path, value];
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  for (const [key, member] of Object.entries(value)) yield* walk(member, `${path}.${key}`);
}

test('this machine offers shm, tcp, udp and sockets endpoints', () => {
  const names = providers();
  expect(names).toEqual([...new Set(names)].sort());
  expect(names).toEqual(expect.arrayContaining(['shm', 'tcp', 'udp']));
});

describe.each(providers())('provider %s', (provider) => {
  const own = entries.filter((info) => info.fabricAttr.provName === provider);

  test('is found by its name, as are providers that are layered over it', () => {
    const found = getInfo({ fabricAttr: { provName: provider } });
    expect(found.map((info) => info.fabricAttr.provName)).toContain(provider);
    for (const info of found) expect(info.fabricAttr.provName).toContain(provider);
  });

  test('offers the same endpoint types with default hints and without hints', () => {
    const types = (list: Info[]) =>
      new Set(
        list
          .filter((info) => info.fabricAttr.provName === provider)
          .map((info) => `${info.epAttr.type} ${info.domainAttr.name}`),
      );
    expect(types(getInfo())).toEqual(types(own));
  });

  test('has deeply frozen entries', () => {
    for (const [path, value] of own.flatMap((info) => [...walk(info)])) {
      if (typeof value !== 'object' || value === null || value instanceof Uint8Array) continue;
      expect(Object.isFrozen(value), path).toBe(true);
    }
  });

  test('has entries of names, numbers, bigints, strings, bytes and null only', () => {
    for (const [path, value] of own.flatMap((info) => [...walk(info)])) {
      if (typeof value === 'number') expect(value, path).toBeGreaterThanOrEqual(0);
      else if (typeof value === 'bigint') expect(value, path).toBeLessThan(2n ** 64n);
      else if (Array.isArray(value)) {
        for (const name of value) expect(name, path).toMatch(flagPattern);
      } else if (typeof value !== 'string' && value !== null)
        expect(value, path).toBeTypeOf('object');
    }
  });

  test('has entries with all attributes', () => {
    for (const info of own) {
      expect(info.epAttr.type).toMatch(/^FI_EP_(MSG|DGRAM|RDM)$/);
      expect(info.addrFormat).toMatch(/^FI_(SOCKADDR|ADDR_|FORMAT)/);
      expect(info.epAttr.protocol).toMatch(/^FI_PROTO_[A-Z]/);
      expect(info.epAttr.maxMsgSize).toBeGreaterThan(0n);
      expect(info.txAttr.iovLimit).toBeGreaterThan(0);
      expect(info.domainAttr.name).toBeTypeOf('string');
      expect(info.fabricAttr.provVersion).toMatch(/^\d+\.\d+$/);
      expect(info.fabricAttr.apiVersion).toMatch(/^\d+\.\d+$/);
      expect(info.caps).toContain('FI_MSG');
    }
  });
});

test('an entry has no property with its native handle', () => {
  const [info] = entries as [Info];
  expect(Reflect.ownKeys(info)).not.toContain('handle');
  expect(infoHandle(info)).toBeTypeOf('object');
});

test('only entries of getInfo() have a handle', () => {
  const [info] = entries as [Info];
  const foreign: unknown[] = [{ ...info }, structuredClone(info), Object.create(info), {}, null, 7];
  for (const value of foreign) {
    expect(() => infoHandle(value as AnyInfo)).toThrow(
      expect.objectContaining({ name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' }),
    );
  }
});

test('an entry remains valid after later calls', () => {
  const kept = getInfo({ fabricAttr: { provName: 'shm' } })[0];
  for (let i = 0; i < 20; i++) getInfo({ fabricAttr: { provName: 'shm' } });
  expect(kept && infoHandle(kept)).toBeTypeOf('object');
});

test('every call returns new handles', () => {
  const [first] = native.getinfo(null);
  const [second] = native.getinfo(null);
  expect(first?.[1]).not.toBe(second?.[1]);
});
