// The requirements of a binary, as readelf(1) shows them, and the oldest supported system: Amazon Linux 2023
// (glibc 2.34, libstdc++ of GCC 11) with libfabric 1.17.
import { execFileSync } from 'node:child_process';
import { symbols as nodeApi } from 'node-api-headers';

/** The newest symbol version of each kind that the oldest system has. */
export const NEWEST_ALLOWED = {
  GLIBC: '2.34',
  GLIBCXX: '3.4.29',
  CXXABI: '1.3.13',
  GCC: '11.0.0',
  FABRIC: '1.6',
};

/** Node-API 9 came with Node.js 18.17 and 20.3. */
export const NODE_API = 9;

const MACHINES = { x64: 'Advanced Micro Devices X86-64', arm64: 'AArch64' };

const readelf = (file, ...options) =>
  execFileSync('readelf', ['--wide', ...options, file], { encoding: 'utf8' });

/** Compares dotted version numbers. */
function compareVersions(a, b) {
  const [x, y] = [a, b].map((version) => version.split('.').map(Number));
  const at = x.findIndex((part, index) => part !== (y[index] ?? 0));
  return at === -1 ? Math.sign(x.length - y.length) : x[at] - (y[at] ?? 0);
}

/** The newest required version of each kind: `{ GLIBC: '2.34', ... }`. */
export function neededVersions(file) {
  const newest = {};
  const needs = readelf(file, '--version-info').split('Version needs section').slice(1).join();
  for (const [, kind, version] of needs.matchAll(/Name: ([A-Z]+)_([\d.]+)/g)) {
    if (!newest[kind] || compareVersions(version, newest[kind]) > 0) newest[kind] = version;
  }
  return newest;
}

/** Whether a binary has symbols or debug information, which no user needs. */
export const hasSymbols = (file) => /\.(symtab|z?debug_\w+)\b/.test(readelf(file, '--sections'));

/** The functions of Node-API that a binary uses but that the supported release does not have. */
function tooNewForNode(file) {
  const { js_native_api_symbols, node_api_symbols } = nodeApi[`v${NODE_API}`];
  const there = new Set([...js_native_api_symbols, ...node_api_symbols]);
  const used = readelf(file, '--dyn-syms').matchAll(/ UND ((?:napi|node_api)_\w+)/g);
  return [...used].map(([, name]) => name).filter((name) => !there.has(name));
}

/** The reasons why a binary would not load on the oldest system; empty if it would. */
export function objections(file, arch) {
  const found = [];
  const [, machine] = readelf(file, '--file-header').match(/Machine: +(.*)/) ?? [];
  if (machine !== MACHINES[arch]) found.push(`is for ${machine}`);
  for (const [kind, version] of Object.entries(neededVersions(file))) {
    const allowed = NEWEST_ALLOWED[kind];
    if (allowed === undefined) found.push(`needs ${kind}_${version} of an unexpected library`);
    else if (compareVersions(version, allowed) > 0) {
      found.push(`needs ${kind}_${version}, which is newer than ${kind}_${allowed}`);
    }
  }
  for (const name of tooNewForNode(file)) {
    found.push(`needs ${name}, which Node-API ${NODE_API} does not have`);
  }
  return found;
}
