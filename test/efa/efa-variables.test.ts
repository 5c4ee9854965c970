// setEfaVariables() and efaVariables(). Each test needs its own process, because variables are set before
// libfabric is loaded.
import '../support/default-queues.js';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { getParams } from 'libfabric';
import { expect, test } from 'vitest';
import '../support/softefa.js';

const dist = (file: string) => JSON.stringify(new URL(`../../dist/${file}`, import.meta.url).href);

/** Runs a program that has this package as `lib`. Returns its output. */
function run(program: string): string {
  const modules = [dist('index.js'), dist('efa/index.js')].map(
    (url) => `...(await import(${url}))`,
  );
  const text = `const lib = { ${modules} }; ${program}`;
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('FI_EFA_'));
  const env = Object.fromEntries(others);
  const args = ['--input-type=module', '-e', text];
  return execFileSync(process.execPath, args, { encoding: 'utf8', env }).trim();
}

const attempt = (call: string) => `try { ${call} } catch (error) { console.log(error.code) }`;

test('libfabric reads the variables that are set before its first use', () => {
  const set = 'lib.setEfaVariables({ FI_EFA_ENABLE_SHM_TRANSFER: false, FI_EFA_TX_SIZE: 512 });';
  expect(run(`${set} console.log(JSON.stringify(lib.efaVariables()))`)).toBe(
    '{"FI_EFA_ENABLE_SHM_TRANSFER":false,"FI_EFA_TX_SIZE":512}',
  );
  // getenv(3) of the library returns the value: a child process inherits it from the C environment.
  const child = "(await import('node:child_process')).execSync('echo $FI_EFA_TX_SIZE').toString()";
  expect(run(`${set} lib.version(); console.log(${child})`)).toBe('512');
});

test('setEfaVariables() after the first use of libfabric fails', () => {
  const late = attempt('lib.setEfaVariables({ FI_EFA_TX_SIZE: 512 })');
  expect(run(`lib.version(); ${late}`)).toBe('ERR_INVALID_STATE');
});

test('setEfaVariables() refuses wrong names and values, and then sets nothing', () => {
  const wrong = [
    'FI_EFA_TX_SIZE: "512"',
    'FI_EFA_FORK_SAFE: 1',
    'FI_EFA_NONE: 1',
    'FI_EFA_RX_SIZE: -1',
  ];
  for (const each of wrong) {
    const call = attempt(`lib.setEfaVariables({ FI_EFA_CQ_SIZE: 8, ${each} })`);
    const output = run(`${call} console.log(Object.keys(lib.efaVariables()).length)`);
    expect(output).toMatch(/^ERR_(INVALID_ARG_TYPE|INVALID_ARG_VALUE|OUT_OF_RANGE)\n0$/);
  }
});

// Later releases end a process that sets the first three, and ignore the last.
const LEFT_OUT = ['MTU_SIZE', 'RX_IOV_LIMIT', 'TX_IOV_LIMIT', 'ZCPY_RX_SEED'].map(
  (name) => `FI_EFA_${name}`,
);

test('the package has every variable of the efa provider that this libfabric lists', () => {
  const listed = getParams().flatMap(({ name }) => (name.startsWith('FI_EFA_') ? [name] : []));
  expect(listed.length).toBeGreaterThan(20);
  const wanted = listed.filter((name) => !LEFT_OUT.includes(name));
  const set = wanted.map((name) => `process.env.${name} = '1';`).join(' ');
  const known = JSON.parse(run(`${set} console.log(JSON.stringify(lib.efaVariables()))`));
  expect(Object.keys(known)).toEqual(expect.arrayContaining(wanted));
});

test('every variable is in the source once', () => {
  const source = fileURLToPath(new URL('../../src/efa/variables.ts', import.meta.url));
  const names = readFileSync(source, 'utf8').match(/'FI_EFA_\w+'/g) ?? [];
  expect(new Set(names).size).toBe(names.length);
});
