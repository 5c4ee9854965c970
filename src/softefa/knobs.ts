import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

// native/softefa/knobs.h
const MAGIC = 0x6b66_6573;
const VERSION = 1;
const SIZE = 4096;

/** Where a field of the page is, in bytes. */
export const enum Knob {
  Magic = 0,
  Version = 4,
  Engaged = 16,
  Capabilities = 20,
  Seed64 = 24,
  ReorderUs = 32,
  DelayUs = 36,
  DropPerMille = 40,
  Fetched64 = 48,
  Rules = 128,
}

export const enum RuleField {
  Fault = 0,
  Nic = 4,
  Qpn = 8,
  Count = 12,
  Value = 16,
  Hits = 20,
}

export const RULES = 32;
export const RULE_BYTES = 32;
/** Any NIC, any queue pair, no end. */
export const ANY = 0xffff_ffff;

// Tells a process from another that had its pid: proc(5), /proc/pid/stat.
function startTime(pid: number | string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined; // it has ended
  }
}

function isMember(name: string): boolean {
  const [pid = '', start] = name.split('.');
  return start !== undefined && startTime(pid) === start;
}

function makeFolder(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

const ATTEMPTS = 10;

/** Enters a namespace, again where the last one to leave it has removed it in between. */
function insist<T>(enter: () => T): T {
  for (let attempt = 1; ; attempt++) {
    try {
      return enter();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' || attempt === ATTEMPTS) throw error;
    }
  }
}

/** The page by which the devices of a namespace are steered. This process keeps the namespace. */
export class KnobsPage {
  readonly #file: number;
  readonly #member: string | undefined;

  constructor(directory: string, namespace: string) {
    const folder = join(directory, `softefa-${process.geteuid?.()}-${namespace}`);
    const self = `${process.pid}.${startTime(process.pid)}`;
    const member = join(folder, self);
    const page = join(folder, 'knobs');
    [this.#member, this.#file] = insist(() => {
      makeFolder(folder);
      const made = makeFolder(member) ? member : undefined;
      const others = readdirSync(folder).filter((name) => name !== self);
      // Killed processes left it, with their faults.
      if (made !== undefined && !others.some(isMember)) rmSync(page, { force: true });
      const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants;
      return [made, openSync(page, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)];
    });
    if (fstatSync(this.#file).size < SIZE) ftruncateSync(this.#file, SIZE);
    if (this.read(Knob.Magic) === 0) {
      this.write(Knob.Version, VERSION);
      this.write(Knob.Magic, MAGIC);
    }
    if (this.read(Knob.Magic) !== MAGIC || this.read(Knob.Version) !== VERSION) {
      this.close();
      throw new Error(`${folder}/knobs is of another version of softefa`);
    }
  }

  read(at: number): number {
    const field = new Uint32Array(1);
    readSync(this.#file, field, 0, 4, at);
    return field[0] as number;
  }

  write(at: number, value: number): void {
    writeSync(this.#file, Uint32Array.of(value), 0, 4, at);
  }

  write64(at: number, value: bigint): void {
    writeSync(this.#file, BigUint64Array.of(value), 0, 8, at);
  }

  read64(at: number): bigint {
    const field = new BigUint64Array(1);
    readSync(this.#file, field, 0, 8, at);
    return field[0] as bigint;
  }

  close(): void {
    closeSync(this.#file);
    if (this.#member === undefined) return;
    try {
      rmdirSync(this.#member); // what the device has put there is its own to remove
    } catch {}
  }
}
