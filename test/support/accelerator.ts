// Checks of the memory of both libfabric/cuda and libfabric/neuron.
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import type { AcceleratorMemory, Dmabuf } from 'libfabric/cuda';
import { expect } from 'vitest';

import type { NativeMemory } from '../../dist/accelerator/native.js';
import { native } from '../../dist/contract/native.js';
import { expectTyped, junkExcept } from './bad-input.js';

/** Every use of memory that was freed throws ERR_CLOSED. */
export function expectClosed(memory: AcceleratorMemory): void {
  const uses = [
    () => memory.pointer,
    () => memory.fill(1),
    () => memory.write(new Uint8Array(1)),
    () => memory.read(new Uint8Array(1)),
    () => memory.dmabuf(),
  ];
  for (const use of uses) expect(use).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
}

const CLOSE_ON_EXEC = 0o2000000; // open(2)

/** Child processes do not inherit the descriptor of a dmabuf. */
export function expectNotInherited({ fd }: Dmabuf): void {
  const [, flags = ''] =
    /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')) ?? [];
  expect(Number.parseInt(flags, 8) & CLOSE_ON_EXEC).toBe(CLOSE_ON_EXEC);
}

/** Each call throws a typed error for each value that is junk as its argument. */
export function expectJunkRefused(calls: readonly ((value: unknown) => unknown)[]): void {
  // Cases in which the value is valid: the default of an option, no options, and an offset of 0.
  const valid = ['undefined', '{}', '-0', 'a proxy'];
  for (const [index, call] of calls.entries()) {
    for (const [label, value] of junkExcept(...valid)) {
      let error: unknown;
      try {
        call(value);
      } catch (caught) {
        error = caught;
      }
      expect(error, `call ${index} with ${label}`).toBeDefined();
      expect((error as Error).message, `call ${index} with ${label}`).toEqual(expect.any(String));
      if ((error as { code?: string }).code !== 'ERR_TEST_BOOM') expectTyped(error);
    }
  }
}

/** Methods that are called on other objects throw ERR_INVALID_THIS, and `new` throws ERR_INVALID_ARG_TYPE. */
export function expectOwn(memory: AcceleratorMemory, dmabuf: Dmabuf): void {
  const others = [undefined, null, 5, 'x', {}, [], () => {}, Object.create(memory), memory, dmabuf];
  for (const own of [memory, dmabuf]) {
    for (const use of usesOf(own)) {
      for (const other of others.filter((each) => each !== own)) {
        expect(() => use.call(other, new Uint8Array(1))).toThrow(
          expect.objectContaining({ name: 'TypeError', code: 'ERR_INVALID_THIS' }),
        );
      }
    }
    const Class = own.constructor as new (...args: unknown[]) => unknown;
    for (const args of [[], [{}], ['x', 0, 1], [{ handle: {}, pointer: 1n, byteLength: 1 }]]) {
      expect(() => new Class(...args)).toThrow(
        expect.objectContaining({ name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' }),
      );
    }
  }
}

/** The methods and getters of an object's classes. */
function usesOf(object: object): ((...args: unknown[]) => unknown)[] {
  const prototype = Object.getPrototypeOf(object) as object;
  if (prototype === Object.prototype) return [];
  const members = Object.getOwnPropertyDescriptors(prototype);
  const passive = ['constructor', 'toJSON', inspect.custom]; // these accept any object
  const own = Reflect.ownKeys(members)
    .filter((key) => !passive.includes(key))
    .map((key) => members[key as keyof typeof members] as PropertyDescriptor)
    .map(({ value, get }) => (get ?? value) as (...args: unknown[]) => unknown);
  return [...own, ...usesOf(prototype)];
}

/**
 * Calls the functions of an addon, except those without arguments, with arbitrary values, and free() with wrong
 * handles and twice with the same. Returns how many of the calls with arbitrary values were refused.
 */
export function callsRefused(addon: NativeMemory, withoutArguments: readonly string[]): number {
  const { handle } = addon.allocate(0, 100);
  const foreign = native.dmabufHold({ fd: 0 });
  const numbers = [5, -1, 0.5, 2 ** 60, Number.NaN, 2n ** 70n, -1n];
  const others = [undefined, null, 'x', {}, [], () => {}, Symbol('x'), foreign, new Uint16Array(1)];
  const values = [...numbers, ...others, new Uint8Array(101)];
  let refused = 0;
  for (const [name, call] of Object.entries(addon)) {
    if (withoutArguments.includes(name)) continue;
    for (const first of [...values, handle]) {
      if (name === 'free' && first === handle) continue;
      for (const second of values) {
        for (const third of values) {
          try {
            call(first, second, third, third);
          } catch (error) {
            expect(error, name).toMatchObject({ message: expect.any(String) });
            refused++;
          }
        }
      }
    }
  }
  for (const wrong of [foreign, {}, undefined]) {
    expect(() => addon.free(wrong as never)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG_TYPE' }),
    );
  }
  native.dmabufRelease(foreign);
  addon.free(handle);
  expect(() => addon.free(handle)).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
  return refused;
}
