// The machine on which figures are measured.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import os from 'node:os';
import { built } from './build.mjs';

export function describeMachine() {
  const cpus = os.cpus();
  return {
    cpu: cpus[0]?.model.trim() ?? 'unknown',
    cores: cpus.length,
    arch: os.arch(),
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    kernel: os.release(),
    node: process.version,
    libfabric: firstLine('pkg-config', ['--modversion', 'libfabric']),
    compiler: firstLine(process.env.CXX ?? 'g++', ['--version']),
    zeromq: createRequire(import.meta.url)('zeromq/package.json').version,
  };
}

/** The nanoseconds that a cache line takes from core 0 to core 1. */
export function coreHopNs() {
  return JSON.parse(execFileSync(`${built}cores`, ['0', '1'], { encoding: 'utf8' })).value;
}

function firstLine(command, args) {
  try {
    return execFileSync(command, args, { encoding: 'utf8' }).split('\n')[0].trim();
  } catch {
    return 'unknown';
  }
}
