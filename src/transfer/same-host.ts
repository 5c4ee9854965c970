import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { identityText } from './address.js';

/**
 * The identity of a process for other processes of its host, and of the thread of the engine: a worker may end alone.
 */
export interface ProcessIdentity {
  /** Identifies the host since its last start, and the PID namespace. */
  readonly host: bigint;
  readonly pid: number;
  /** The number of the thread in the system, which is that of the process for its main thread. */
  readonly thread: number;
  /** Clock ticks from the start of the host to that of the thread: proc_pid_stat(5). */
  readonly started: number;
}

/** Memory of a process that others can map: proc_pid_fd(5). */
export interface SharedFile {
  readonly fd: number;
  readonly inode: bigint;
}

const START = 19; // fields of /proc/PID/stat after the state

// Of a file of a process that has ended: before it is opened, or between open() and read().
const ENDED: readonly unknown[] = ['ENOENT', 'ESRCH'];

/** The state of a thread, and the time at which it started. Undefined if it is not running. @throws if the system cannot tell. */
function statOf(pid: number, thread: number): { state: string; started: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
    // The name of the thread comes before the state, and may have spaces and parentheses.
    const [state = '', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const hasEnded = state === 'Z' || state === 'X';
    return hasEnded ? undefined : { state, started: Number(fields[START - 1]) };
  } catch (error) {
    if (ENDED.includes((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
}

/** Compares the start of a thread. Undefined if the system cannot tell, because this process has no descriptor for example. */
function hasStartedAt({ pid, thread, started }: ProcessIdentity): boolean | undefined {
  try {
    return statOf(pid, thread)?.started === started;
  } catch {
    return undefined;
  }
}

let known: ProcessIdentity | undefined;

/** The identity of this process and thread. Undefined if /proc does not provide it. */
export function thisProcess(): ProcessIdentity | undefined {
  if (known !== undefined) return known;
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1');
    const hash = createHash('sha256').update(boot).update(readlinkSync('/proc/self/ns/pid'));
    const host = hash.digest().readBigUInt64LE();
    const [, pid, thread] = /^(\d+)\/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self')) ?? [];
    const started = statOf(Number(pid), Number(thread))?.started;
    if (started !== undefined) known = { host, pid: Number(pid), thread: Number(thread), started };
  } catch {
    // Without /proc, no processes of this host are recognized.
  }
  return known;
}

/** Whether a thread belongs to this host and still runs. */
export const isHere = (process: ProcessIdentity): boolean =>
  process.host === thisProcess()?.host && hasStartedAt(process) === true;

/** Whether a thread belongs to this host and has ended. */
export const hasEnded = (process: ProcessIdentity): boolean =>
  process.host === thisProcess()?.host && hasStartedAt(process) === false;

/** Whether a thread belongs to this host and is stopped, by a signal or a debugger. */
export function isStopped(process: ProcessIdentity): boolean {
  if (!isHere(process)) return false;
  try {
    return /^t$/i.test(statOf(process.pid, process.thread)?.state ?? '');
  } catch {
    return false;
  }
}

/**
 * Opens memory that a process shares. Returns a descriptor. Returns undefined if the file is not one of
 * `engine`, or if this process may not open it.
 */
export function openShared(
  owner: ProcessIdentity,
  engine: bigint,
  { fd, inode }: SharedFile,
  access: 'write' | 'read',
): number | undefined {
  const link = `/memfd:libfabric-transfer-${identityText(engine)} (deleted)`;
  const path = `/proc/${owner.pid}/fd/${fd}`;
  try {
    if (!isHere(owner) || readlinkSync(path) !== link) return undefined;
    const opened = openSync(path, access === 'write' ? 'r+' : 'r');
    const isSame =
      readlinkSync(`/proc/self/fd/${opened}`) === link &&
      fstatSync(opened, { bigint: true }).ino === inode;
    if (isSame) return opened;
    closeSync(opened);
  } catch {
    // The process belongs to another user, or has ended.
  }
  return undefined;
}
