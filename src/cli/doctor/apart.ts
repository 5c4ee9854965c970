import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PATIENCE = 60_000; // milliseconds: opening takes long where memory is short

/**
 * Runs a program of this folder in a process of its own, for a provider may abort it. Gives what the
 * program has printed where it ends with an error, how it has died where it does, and null else.
 */
export function runApart(
  program: string,
  args: readonly string[] = [],
  variables: NodeJS.ProcessEnv = {},
): Promise<string | null> {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const env = { ...process.env, ...variables };
  const options = { env, timeout: PATIENCE, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], options, (error, stdout, stderr) => {
      if (error === null) resolve(null);
      else resolve(stdout.trim() || howItDied(error, stderr.trim()));
    });
  });
}

interface Death extends Error {
  readonly signal?: string | null;
  readonly killed?: boolean;
}

function howItDied({ signal, killed, message }: Death, stderr: string): string {
  if (killed) return `no end after ${PATIENCE / 1000} s`;
  if (!signal) return message;
  const last = stderr.split('\n').slice(-3).join(' ');
  return `a process that does so dies by ${signal}${last ? `: ${last}` : ''}`;
}
