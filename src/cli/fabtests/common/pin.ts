import { execFileSync } from 'node:child_process';

/** Lets this process run on some cores only, `'0,2-4'`: --pin-core. */
export function pinToCores(cores: string): void {
  try {
    execFileSync('taskset', ['-a', '-p', '-c', cores, String(process.pid)], { stdio: 'pipe' });
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: Buffer };
    const reason = code === 'ENOENT' ? 'it needs taskset (util-linux)' : String(stderr).trim();
    throw new Error(`--pin-core ${cores}: ${reason}`);
  }
}
