import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const TIMEOUT = 60_000; // milliseconds: opening takes long if memory is short

/** The result of a program. */
export interface Ended {
  /** Its output if it failed, or the signal that killed it. Null if it succeeded. */
  readonly failure: string | null;
  /** Its output. */
  readonly output: string;
}

/** Runs a program of this folder in a separate process, because a provider may abort it. */
export function runInProcess(
  program: string,
  args: readonly string[] = [],
  variables: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const env = { ...process.env, ...variables };
  const options = { env, timeout: TIMEOUT, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], options, (error, stdout, stderr) => {
      const output = stdout.trim();
      const failure = error === null ? null : output || failureText(error, stderr.trim());
      resolve({ failure, output });
    });
  });
}

interface ProcessError extends Error {
  readonly signal?: string | null;
  readonly killed?: boolean;
}

function failureText({ signal, killed, message }: ProcessError, stderr: string): string {
  if (killed) return `still running after ${TIMEOUT / 1000} s`;
  if (!signal) return message;
  const last = stderr.split('\n').slice(-3).join(' ');
  return `a process that does this is killed by ${signal}${last ? `: ${last}` : ''}`;
}
