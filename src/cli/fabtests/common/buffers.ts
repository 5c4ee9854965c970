import type { Domain } from '../../../domain.js';
import type { MrAccess } from '../../../flags.js';
import type { MemoryRegion, RegionSlice } from '../../../memory-region.js';
import { allocateFor } from './memory.js';

/** What the memory of a test is laid out for. */
export interface Layout {
  /** Bytes of the largest transfer. */
  readonly room: number;
  /** Transfers that have a place of their own: those of a window, or 1. */
  readonly places: number;
  readonly access: readonly MrAccess[];
  /** Bytes that a place has at least. */
  readonly least: number;
}

/** Bytes that fabtests keep free before the places, for acknowledgements. */
export const RESERVED = 4;

const LINE = 64;

/**
 * The memory of a test: one registered region, what is received first and what is sent behind it, as
 * fabtests since 1.19 have it. The peer counts on that: it reads what is to be sent `half` bytes from
 * the region's start.
 */
export class Buffers {
  readonly region: MemoryRegion;
  /** Bytes of the receive half, which the send half follows. */
  readonly half: number;

  private constructor(region: MemoryRegion, half: number) {
    this.region = region;
    this.half = half;
  }

  static async allocate(domain: Domain, layout: Layout): Promise<Buffers> {
    const place = Math.max(layout.room, layout.least);
    const half = Math.ceil((place * layout.places + RESERVED) / LINE) * LINE;
    return new Buffers(await allocateFor(domain, half * 2, layout.access), half);
  }

  /** Where `size` bytes are received, `offset` bytes into that half. */
  receiving(size: number, offset = 0): RegionSlice {
    return this.region.slice(offset, size);
  }

  /** Where `size` bytes are sent from, `offset` bytes into that half. */
  sending(size: number, offset = 0): RegionSlice {
    return this.region.slice(this.half + offset, size);
  }
}
