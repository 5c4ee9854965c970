import { closeSync } from 'node:fs';
import { checkInteger, oneOf } from '../checks.js';
import { type DmabufMemory, type HmemMemory, type HmemType, MAX_INT } from '../device-memory.js';
import { closed, invalidArgType, invalidThis, outOfRange } from '../errors.js';
import type { CallOf, NativeMemory } from './native.js';

/**
 * A dmabuf of an accelerator's memory, for `domain.register()`. Its descriptor is open until close(),
 * which may be called as soon as register() has returned its promise.
 */
export class Dmabuf implements DmabufMemory {
  readonly type = 'dmabuf';
  /** Offset of the memory in the dmabuf, in bytes. */
  readonly offset: number;
  /** Bytes. */
  readonly byteLength: number;
  #fd: number | undefined;

  /** @internal */
  constructor(fd: number, offset: number, byteLength: number) {
    this.#fd = checkInteger('fd', fd, 0, MAX_INT);
    this.offset = checkInteger('offset', offset);
    this.byteLength = checkInteger('byteLength', byteLength, 1);
  }

  /**
   * The file descriptor.
   *
   * @throws Error ERR_CLOSED
   */
  get fd(): number {
    const fd = Dmabuf.#own(this).#fd;
    if (fd === undefined) throw closed('Dmabuf');
    return fd;
  }

  /** Closes the descriptor. Regions that were registered with it stay valid. */
  close(): void {
    const fd = Dmabuf.#own(this).#fd;
    this.#fd = undefined;
    if (fd !== undefined) closeSync(fd);
  }

  /** close() */
  [Symbol.dispose](): void {
    Dmabuf.#own(this).close();
  }

  static #own(dmabuf: unknown): Dmabuf {
    if (typeof dmabuf === 'object' && dmabuf !== null && #fd in dmabuf) return dmabuf;
    throw invalidThis('a Dmabuf');
  }
}

/** Checks the argument of an exportDmabuf(), and reads each member once. */
export function checkExported(memory: HmemMemory, type: HmemType) {
  if (typeof memory !== 'object' || memory === null) {
    throw invalidArgType('memory', `memory of type '${type}'`, memory);
  }
  oneOf('memory.type', memory.type, [type]);
  return {
    pointer: checkPointer('memory.pointer', memory.pointer),
    byteLength: checkInteger('memory.byteLength', memory.byteLength, 1),
    device: checkInteger('memory.device', memory.device, 0, MAX_INT),
  };
}

/** An exportDmabuf() whose library checks that the range lies in memory of its own. @internal */
export function exportedBy(call: CallOf<NativeMemory>, memory: HmemMemory, type: HmemType): Dmabuf {
  const { pointer, byteLength, device } = checkExported(memory, type);
  const { fd, offset } = call((addon) => addon.exportDmabuf(device, pointer, byteLength));
  return new Dmabuf(fd, offset, byteLength);
}

/** Checks for an address. */
export function checkPointer(name: string, pointer: unknown): bigint {
  if (typeof pointer !== 'bigint') throw invalidArgType(name, 'a bigint', pointer);
  if (pointer < 0n || pointer >= 2n ** 64n) throw outOfRange(name, 'from 0 to 2^64 - 1', pointer);
  return pointer;
}
