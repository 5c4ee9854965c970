import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Entered, loadPreload } from '../contract/load.js';
import { softefaLibrary } from './load.js';

/** The byte offset of each field of the page: native/softefa/knobs.h. */
export const enum Knob {
  Engaged = 16,
  Capabilities = 20,
  Seed64 = 24,
  ReorderUs = 32,
  DelayUs = 36,
  DropPerMille = 40,
  DuplicatePerMille = 44,
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
  After = 24,
}

export const RULES = 32;
export const RULE_BYTES = 32;
/** Any NIC, any queue pair, or no limit. */
export const ANY = 0xffff_ffff;

/**
 * The shared page that controls the devices of a namespace. While it is open, this process counts as a
 * user of the namespace.
 */
export class KnobsPage {
  readonly #file: number;
  readonly #entered: Entered;

  constructor(directory: string, namespace: string) {
    const preload = loadPreload();
    const [folder, entered] = preload.enterNamespace(softefaLibrary(), directory, namespace);
    this.#entered = entered;
    try {
      this.#file = openSync(join(folder, 'knobs'), constants.O_RDWR | constants.O_NOFOLLOW);
    } catch (error) {
      preload.leaveNamespace(softefaLibrary(), entered);
      throw error;
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
    loadPreload().leaveNamespace(softefaLibrary(), this.#entered);
  }
}
