// Measures the cost of each test file: CPU time and processes. `npm test -- --times FILE` writes the costs of
// all files.
import childProcess from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll } from 'vitest';

export interface Costs {
  /** Seconds of CPU time of the process that runs the file. */
  cpu: number;
  /** Seconds of CPU time of the processes that the file started and that have exited. */
  childrenCpu: number;
  /** The number of processes that the file started. */
  processes: number;
}

declare module 'vitest' {
  interface TaskMeta {
    costs?: Costs;
  }
}

const TICKS = 100; // per second, of the times in /proc

/** Counts the processes that this process starts from now on. */
function countProcesses(): { started: number } {
  const count = { started: 0 };
  subscribe('child_process', () => {
    count.started += 1;
  });
  for (const name of ['spawnSync', 'execSync', 'execFileSync'] as const) {
    const original = childProcess[name] as (...args: unknown[]) => unknown;
    const counting = (...args: unknown[]) => {
      count.started += 1;
      return original(...args);
    };
    Object.assign(childProcess, { [name]: counting });
  }
  syncBuiltinESMExports();
  return count;
}

function childrenCpu(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS; // cutime and cstime of proc(5)
}

/** Survives this module, because several files may run in a process, each with its own modules. */
const shared = globalThis as { libfabricTests?: { count: { started: number }; before: Costs } };
shared.libfabricTests ??= {
  count: countProcesses(),
  before: { cpu: 0, childrenCpu: 0, processes: 0 },
};
const state = shared.libfabricTests;

// biome-ignore lint/correctness/noEmptyPattern: vitest accepts only a destructured first parameter
afterAll(({}, suite) => {
  const { user, system } = process.cpuUsage();
  const now = {
    cpu: (user + system) / 1e6,
    childrenCpu: childrenCpu(),
    processes: state.count.started,
  };
  const { before } = state;
  suite.file.meta.costs = {
    cpu: now.cpu - before.cpu,
    childrenCpu: now.childrenCpu - before.childrenCpu,
    processes: now.processes - before.processes,
  };
  state.before = now;
});
