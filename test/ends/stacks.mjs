// The stacks of the threads of a stuck process, if gdb is installed.
import { spawnSync } from 'node:child_process';

const FRAMES = 16;

export function stacksOf(pid) {
  const command = ['-p', String(pid), '-batch', '-ex', `thread apply all bt ${FRAMES}`];
  const { status, stdout } = spawnSync('gdb', command, { encoding: 'utf8', timeout: 30_000 });
  if (status !== 0) return '';
  const threads = stdout.split(/^(?=Thread \d)/m).slice(1);
  return threads.filter((thread) => /libfabric|softefa|fi_|fab::/.test(thread)).join('');
}
