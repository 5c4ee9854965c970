import { describe, expect, test } from 'vitest';
import {
  expectRejected,
  expectThrown,
  expectWorking,
  fixturesOfFile,
  junk,
  junkExcept,
  loopbackOfFile,
} from '../support/bad-input.js';
import { callVerb, type Fixtures, VERBS, verbs } from '../support/verbs.js';

const loopback = loopbackOfFile();
const fixtures = fixturesOfFile(loopback, 4096);

/** Returns invalid values of an argument, and a pattern of the error that names it. */
function invalidValues(argument: string): {
  values: (readonly [string, unknown])[];
  names: RegExp;
} {
  switch (argument) {
    case 'source':
      return { values: junkExcept('undefined', 'null'), names: /source/ };
    case 'options':
      return { values: junkExcept('undefined', '{}', 'a proxy', CONVERTS), names: /options/ };
    case 'tag':
    case 'data':
      return { values: junkExcept('-0'), names: new RegExp(`^${argument} must be`) };
    case 'ignore':
      return { values: junkExcept('undefined', '-0'), names: /^ignore must be/ };
    default:
      return { values: [...junk], names: new RegExp(`^${argument}`) };
  }
}

// A valid object for calls that only read its properties.
const CONVERTS = 'an object that throws when it is converted';

const cases = VERBS.flatMap((verb) =>
  Object.keys(verbs({} as Fixtures)[verb]!()).map((argument) => ({ verb, argument })),
);

describe('an invalid argument', () => {
  test.each(cases)('$argument of $verb rejects, and nothing is posted', async (entry) => {
    const { verb, argument } = entry;
    const { ep, self } = loopback;
    const before = ep.domain.stats().operations;
    const { values, names } = invalidValues(argument);
    for (const [label, value] of values) {
      if (/Atomic|atomic/.test(verb) && argument === 'options' && label === 'undefined') continue;
      const args = { ...verbs(fixtures)[verb]!(), [argument]: value };
      await expectRejected(() => callVerb(ep, verb, args), names).catch((error: Error) => {
        error.message = `${label}: ${error.message}`;
        throw error;
      });
    }
    expect(ep.domain.stats().operations).toBe(before);
    await expectWorking(ep, self);
  });

  test.each(cases)('$argument of $verb throws in a batch and in post', async (entry) => {
    const { verb, argument } = entry;
    const { ep } = loopback;
    const batch = ep.batch();
    const { values, names } = invalidValues(argument);
    for (const [, value] of values) {
      const args = { ...verbs(fixtures)[verb]!(), [argument]: value };
      await expectThrown(() => callVerb(batch, verb, args), names);
      await expectThrown(() => callVerb(ep.post, verb, args), names);
    }
    expect(batch.size).toBe(0);
    batch.close();
    expect(ep.receiveQueue.read()).toEqual([]);
  });
});

describe('missing arguments', () => {
  test.each(VERBS)('%s rejects', async (verb) => {
    const { ep, self } = loopback;
    const args = verbs(fixtures)[verb]!();
    const needed = Object.keys(args).filter(
      (name) => !['source', 'ignore', 'options'].includes(name) || verb.includes('tomic'),
    );
    const last = needed.at(-1) as string;
    const given = Object.keys(args).slice(0, Object.keys(args).indexOf(last));
    for (let count = given.length; count >= 0; count--) {
      const some = Object.fromEntries(given.slice(0, count).map((name) => [name, args[name]]));
      await expectRejected(() => callVerb(ep, verb, some));
    }
    await expectWorking(ep, self);
  });
});
