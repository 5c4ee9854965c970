// --local: this process is rank 0 and starts the others.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Hub } from './hub.js';

/** The arguments of the other ranks: this process's without --local. */
export function withoutLocal(argv: readonly string[]): string[] {
  return argv.filter(
    (argument, i) =>
      argument !== '--local' && argv[i - 1] !== '--local' && !argument.startsWith('--local='),
  );
}

/** Starts ranks 1 and up. One that cannot be started or ends with a failure ends all. */
export function startOthers(ranks: number, argv: readonly string[], hub: Hub): ChildProcess[] {
  const [script = '', ...args] = argv;
  const place = ['--ranks', String(ranks), '--root', `127.0.0.1:${hub.root.port}`];
  return Array.from({ length: ranks - 1 }, (_, i) => {
    const rank = i + 1;
    const own = [...withoutLocal(args), '--rank', String(rank), ...place];
    const child = spawn(process.execPath, [...process.execArgv, script, ...own], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.on('error', (error) => hub.end(`rank ${rank} cannot be started: ${error.message}`));
    child.on('exit', (code, signal) => {
      if (code !== 0) hub.end(`rank ${rank} has ended with ${signal ?? `code ${code}`}`);
    });
    return child;
  });
}
