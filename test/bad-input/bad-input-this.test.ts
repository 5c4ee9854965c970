import { inspect } from 'node:util';
import {
  AddressVector,
  CompletionQueue,
  Counter,
  Domain,
  Fabric,
  MemoryRegion,
  Peer,
  RegionSlice,
  RemoteRegion,
} from 'libfabric';
import { describe, expect, test } from 'vitest';
import { expectWorking, fixturesOfFile, loopbackOfFile, refusalOf } from '../support/bad-input.js';
import { callVerb, VERBS, verbs } from '../support/verbs.js';

const loopback = loopbackOfFile();
const fixtures = fixturesOfFile(loopback, 64);

const foreign = [undefined, null, 5, 'x', {}, [], () => {}, new Uint8Array(8), Object.create(null)];

describe('data transfer calls on another object', () => {
  test.each(VERBS)('%s throws ERR_INVALID_THIS', async (verb) => {
    const { ep, self } = loopback;
    const args = Object.values(verbs(fixtures)[verb]!());
    const batch = ep.batch();
    for (const from of [ep, batch, ep.post] as const) {
      const call = (from as unknown as Record<string, (...args: unknown[]) => unknown>)[verb]!;
      for (const thing of foreign) {
        const { how, error } = await refusalOf(() => call.apply(thing, args));
        expect(how).toBe('threw');
        expect(error.code).toBe('ERR_INVALID_THIS');
      }
    }
    await expectWorking(ep, self);
  });

  test.each(VERBS)('%s refuses an object that only inherits from an endpoint', async (verb) => {
    const { ep, self } = loopback;
    const batch = ep.batch();
    const before = ep.domain.stats().operations;
    for (const real of [ep, batch, ep.post] as const) {
      const { how, error } = await refusalOf(() =>
        callVerb(Object.create(real), verb, verbs(fixtures)[verb]!()),
      );
      expect(how).toBe(real === ep ? 'rejected' : 'threw');
      expect(error.code).toBe('ERR_INVALID_THIS');
    }
    expect(batch.size).toBe(0);
    expect(ep.domain.stats().operations).toBe(before);
    await expectWorking(ep, self);
  });
});

const classes = [
  Fabric,
  Domain,
  AddressVector,
  CompletionQueue,
  Counter,
  MemoryRegion,
  RegionSlice,
  RemoteRegion,
  Peer,
];

/** Returns the methods of a class, including those named by symbols. */
function methodsOf(prototype: object): [string, (...args: unknown[]) => unknown][] {
  return Reflect.ownKeys(prototype).flatMap((key) => {
    // console.log() and JSON.stringify() must be able to print anything.
    if (key === inspect.custom || key === 'toJSON') return [];
    const { value } = Object.getOwnPropertyDescriptor(prototype, key)!;
    if (typeof value !== 'function' || key === 'constructor') return [];
    return [[String(key), value as (...args: unknown[]) => unknown] as const];
  }) as [string, (...args: unknown[]) => unknown][];
}

const methods = classes.flatMap((owner) =>
  methodsOf(owner.prototype).map(([name, method]) => ({ owner: owner.name, name, method })),
);

describe('methods on another object', () => {
  // Internal methods, and methods that only use their arguments.
  const internal = ['unsolicited', 'forget', 'push', 'immediate'];

  test.each(methods.filter(({ name }) => !internal.includes(name)))(
    '$owner.$name throws or rejects',
    async ({ method }) => {
      for (const thing of foreign) {
        const { how, error } = await refusalOf(() => method.call(thing, 0, 0));
        expect(how).not.toBe('accepted');
        expect(error).toBeInstanceOf(Error);
        if (error.code === undefined) expect(error).toBeInstanceOf(TypeError);
      }
    },
  );

  test('the methods of a batch and an endpoint throw or reject', async () => {
    const { ep } = loopback;
    const passive = ['finish', 'owns', 'refuse', 'completed', 'commit', 'withdraw'];
    for (const object of [ep, ep.batch()] as const) {
      let prototype = Object.getPrototypeOf(Object.getPrototypeOf(object)) as object;
      const seen: string[] = [];
      while (prototype !== Object.prototype) {
        for (const [name, method] of methodsOf(prototype)) {
          // Internal methods that only use their arguments.
          if (passive.includes(name)) continue;
          seen.push(name);
          const { how, error } = await refusalOf(() => method.call({}, 0, 0));
          expect(`${name} ${how}`).not.toBe(`${name} accepted`);
          expect(error).toBeInstanceOf(TypeError);
        }
        prototype = Object.getPrototypeOf(prototype) as object;
      }
      expect(seen).toContain('close');
    }
  });

  test('internal constructors throw', () => {
    for (const Class of [Fabric, Domain, AddressVector, CompletionQueue, Counter, RemoteRegion]) {
      const construct = Class as unknown as new (...args: unknown[]) => unknown;
      expect(() => new construct()).toThrow(TypeError);
      expect(() => new construct({}, {}, {}, {})).toThrow(TypeError);
    }
  });
});
