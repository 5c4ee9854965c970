import { existsSync, readFileSync } from 'node:fs';
import { expect, expectTypeOf, test } from 'vitest';
import {
  endpointOptions,
  type OptionValue,
  type ReadableOption,
  type WritableOption,
} from '../../dist/endpoint/endpoint-options.js';

const headers = ['/opt/amazon/efa/include/rdma', '/usr/include/rdma'].find(existsSync);

// Returns the names of the enum that starts with `first`, in the order of their values.
function enumerators(file: string, first: string): string[] {
  const text = readFileSync(`${headers}/${file}`, 'utf8').replace(/\/\*.*?\*\//gs, '');
  const [, body] = new RegExp(`\\{\\s*(${first}\\b[^}]*)\\}`).exec(text) ?? [];
  return [...(body ?? '').matchAll(/\b(FI_OPT_\w+)\b/g)].map((match) => match[1]!);
}

test.for([
  ['fi_endpoint.h', 'FI_OPT_MIN_MULTI_RECV', 0],
  ['fi_ext.h', 'FI_OPT_EFA_RNR_RETRY', -(0xefa << 16)],
] as const)('every option of %s has the number from the header', ([file, first, base], context) => {
  if (!headers) return context.skip('the headers of libfabric are not installed');
  const names = enumerators(file, first).filter((name) => name !== 'FI_OPT_XPU_TRIGGER');
  const all = enumerators(file, first);
  expect(all.length).toBeGreaterThan(0);
  for (const name of names) {
    expect(endpointOptions, name).toHaveProperty([name, 'name'], base + all.indexOf(name));
  }
});

test('all numbers differ, and the table is frozen', () => {
  const numbers = Object.values(endpointOptions).map((option) => option.name);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(Object.isFrozen(endpointOptions)).toBe(true);
});

test("an option's name determines the type of its value", () => {
  expectTypeOf<OptionValue<'FI_OPT_MIN_MULTI_RECV'>>().toEqualTypeOf<number | bigint>();
  expectTypeOf<OptionValue<'FI_OPT_EFA_EMULATED_READ'>>().toEqualTypeOf<boolean>();
  expectTypeOf<'FI_OPT_CM_DATA_SIZE'>().toExtend<ReadableOption>();
  expectTypeOf<'FI_OPT_CM_DATA_SIZE'>().not.toExtend<WritableOption>();
  expectTypeOf<'FI_OPT_EFA_USE_DEVICE_RDMA'>().not.toExtend<ReadableOption>();
});
