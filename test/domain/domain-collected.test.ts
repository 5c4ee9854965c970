import { describe, test } from 'vitest';
import { casesOf, longCombinations, processCombinations, slow } from '../support/cases.js';
import { runCleanly } from '../support/lifecycle.js';
import { PROVIDERS } from '../support/providers.js';

const node = ['--expose-gc'];
const collects = (args: string[], stdout: string, stderr = /^$/) =>
  runCleanly('lifecycle-gc', args, { stdout, stderr }, { node });

describe.each(processCombinations)('$provider, $driver driver', ({ provider, driver }) => {
  test('a domain that is collected without close() warns and stays open', async () => {
    const warning = /LibfabricWarning: A Domain was garbage collected before close\(\)/;
    await collects([provider, driver, 'domain'], 'LibfabricWarning', warning);
  });
});

describe.each(longCombinations)('$provider, $driver driver', ({ provider, driver }) => {
  test('endpoints, queues and vectors that are collected stay open until the domain closes', async () => {
    await collects([provider, driver, 'objects'], 'closed');
  });

  test('posted receives keep their buffers', async () => {
    await collects([provider, driver, 'receives'], 'true');
  });
});

describe.each(casesOf(PROVIDERS, (provider) => provider === 'efa'))('%s', (provider) => {
  test('short-lived buffers and remote regions do not leak memory', async () => {
    await collects([provider, 'thread', 'short'], 'heap\nrss');
  });
});

if (slow)
  test('slots are reused', async () => {
    await collects(['shm', 'thread', 'many'], '64');
  });
