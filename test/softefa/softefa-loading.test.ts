import { execFileSync } from 'node:child_process';
import { SoftefaFaults, type SoftefaOptions, softefaEnvironment } from 'libfabric/softefa';
import { describe, expect, test } from 'vitest';
import { ownNamespace } from '../support/own-namespace.js';

/** Runs a program in its own process. Returns its output, parsed as JSON. */
function run(body: string, env: NodeJS.ProcessEnv = {}): unknown {
  const program = `
    import { getInfo, open } from 'libfabric';
    import { loadSoftefa } from 'libfabric/softefa';
    const efa = () => getInfo({ fabricAttr: { provName: 'efa' } });
    const code = (call) => { try { call(); } catch (error) { return error.code; } };
    ${body}`;
  const args = ['--input-type=module', '-e', program];
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const;
  return JSON.parse(execFileSync(process.execPath, args, options));
}

const NAMES = 'JSON.stringify(efa().map(({ domainAttr }) => domainAttr.name))';

/** Returns the domains of `nics` devices. libfabric 2 lists some of them in two fabrics. */
const domainsOf = (nics: number) =>
  new Set(
    Array.from({ length: nics }, (_, nic) => [`softefa_${nic}-rdm`, `softefa_${nic}-dgrm`]).flat(),
  );

test('loadSoftefa() adds devices whose names are of softefa', () => {
  const found = run(`
    loadSoftefa({ nics: 2 });
    console.log(JSON.stringify(efa().map(({ domainAttr, nic }) =>
      [domainAttr.name, nic.deviceAttr.name])));`) as string[][];
  expect(new Set(found.map(([name]) => name))).toEqual(domainsOf(2));
  for (const [, device] of found) expect(device).toMatch(/^softefa_[01]$/);
});

test('without it there is no device', () => {
  expect(run('console.log(JSON.stringify(efa()));')).toEqual([]);
});

test('loadSoftefa() fails after the first use of libfabric and when called again', () => {
  const late = `efa(); console.log(JSON.stringify(code(() => loadSoftefa())));`;
  expect(run(late)).toBe('ERR_INVALID_STATE');
  const twice = `loadSoftefa(); console.log(JSON.stringify(code(() => loadSoftefa({ nics: 2 }))));`;
  expect(run(twice)).toBe('ERR_INVALID_STATE');
  const preloaded = `console.log(JSON.stringify(code(() => loadSoftefa())));`;
  expect(run(preloaded, softefaEnvironment())).toBe('ERR_INVALID_STATE');
});

test('SoftefaFaults can be created before loadSoftefa()', () => {
  const found = run(`
    const { SoftefaFaults } = await import('libfabric/softefa');
    const faults = new SoftefaFaults();
    faults.add('portDown').remove();
    loadSoftefa({ nics: 2 });
    console.log(${NAMES});
    faults.close();`);
  expect(new Set(found as string[])).toEqual(domainsOf(2));
});

test('loadSoftefa() in a worker adds devices to the process', () => {
  const found = run(`
    import { Worker } from 'node:worker_threads';
    const worker = new Worker(
      "import('libfabric/softefa').then(({ loadSoftefa }) => loadSoftefa({ nics: 2 }))",
      { eval: true },
    );
    worker.on('exit', () => console.log(${NAMES}));`);
  expect(new Set(found as string[])).toEqual(domainsOf(2));
});

test('softefaEnvironment() adds devices to another process', () => {
  const environment = softefaEnvironment({ nics: 3, seed: 7, capabilities: [] });
  expect(environment).toEqual({
    LD_PRELOAD: expect.stringMatching(/libsoftefa\.so$/),
    SOFTEFA_NICS: '3',
    SOFTEFA_SEED: '7',
    SOFTEFA_CAPS: '0',
  });
  expect(new Set(run(`console.log(${NAMES});`, environment) as string[])).toEqual(domainsOf(3));
});

describe('options', () => {
  test.each<[SoftefaOptions, string]>([
    [{ nics: 65 }, 'options.nics must be an integer from 1 to 64'],
    [{ node: -1 }, 'options.node must be an integer'],
    [{ namespace: 'a/b' }, 'options.namespace must be 1 to 40 letters'],
    [{ capabilities: ['NONE'] as never }, 'options.capabilities must be one of'],
    [{ forkStatus: 'maybe' as never }, 'options.forkStatus must be one of'],
    [{ direct: 1 as never }, 'options.direct must be a boolean'],
    [{ asynchronous: 1 as never }, 'options.asynchronous must be a boolean'],
  ])('%j is refused', (options, reason) => {
    expect(() => softefaEnvironment(options)).toThrow(reason);
  });

  test('a device without capabilities still has RMA', () => {
    const program = `
      const entries = getInfo({ fabricAttr: { provName: 'efa' }, epAttr: { type: 'FI_EP_RDM' } });
      console.log(JSON.stringify(entries.some(({ caps }) => caps.includes('FI_RMA'))));`;
    // The provider emulates RMA where the device has none.
    expect(run(program, softefaEnvironment({ capabilities: [] }))).toBe(true);
  });
});

describe('SoftefaFaults', () => {
  test('refuses invalid faults, and all faults after close()', () => {
    const faults = new SoftefaFaults({ namespace: ownNamespace('loading') });
    expect(() => faults.add('no-such-fault' as never)).toThrow('kind must be one of');
    expect(() => faults.add('status', { count: 0 })).toThrow('options.count');
    expect(() => faults.set({ drop: 1001 })).toThrow('drop must be an integer from 0 to 1000');
    const late = 'from 0 to 60000 milliseconds';
    expect(() => faults.set({ delay: 60_001 })).toThrow(`delay must be ${late}`);
    expect(() => faults.add('delay', { value: -1 })).toThrow(`options.value must be ${late}`);
    faults.close();
    faults.close();
    expect(() => faults.add('rnr')).toThrow(expect.objectContaining({ code: 'ERR_CLOSED' }));
  });

  test('has room for 32 faults at the same time, and reuses removed ones', () => {
    using faults = new SoftefaFaults({ namespace: ownNamespace('loading') });
    for (let i = 0; i < 100; i++) faults.add('rnr').remove();
    const all = Array.from({ length: 32 }, () => faults.add('rnr', { count: 3 }));
    expect(() => faults.add('rnr')).toThrow('there are 32 faults already');
    expect(all.map(({ hits, left }) => [hits, left])).toEqual(Array(32).fill([0, 3]));
  });
});
