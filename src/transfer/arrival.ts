import type { MemoryPart, TransferMemory } from './memory.js';

/** The bytes that have arrived, or that the peer has read. */
export interface Arrival {
  /**
   * The bytes of the offered part, if it is contiguous; otherwise all bytes of its memory. Throws
   * ERR_INVALID_STATE for memory of a device.
   */
  readonly bytes: Uint8Array;
  /** Bytes that the peer has sent, or read. */
  readonly length: number;
  /** The notification that arrived with the bytes. */
  readonly notification: Uint8Array | undefined;
}

/** The arrival of bytes in memory of a device. */
class DeviceArrival implements Arrival {
  readonly #memory: TransferMemory;
  readonly length: number;
  readonly notification: Uint8Array | undefined;

  constructor(memory: TransferMemory, length: number, notification: Uint8Array | undefined) {
    this.#memory = memory;
    this.length = length;
    this.notification = notification;
  }

  get bytes(): Uint8Array {
    return this.#memory.bytes;
  }
}

/** @param announced the bytes that the peer has announced, which may be fewer than those of the part. */
export function arrivalOf(
  part: MemoryPart,
  announced: number,
  notification: Uint8Array | undefined,
): Arrival {
  const length = Math.min(announced, part.length);
  if (part.memory.device !== undefined) return new DeviceArrival(part.memory, length, notification);
  const { bytes: all } = part.memory; // its lease may have been released
  const start = part.pieces[0] as number;
  const bytes = part.contiguous ? all.subarray(start, start + length) : all;
  return { bytes, length, notification };
}
