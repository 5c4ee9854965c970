import type { MrAccess } from '../../../base/flags.js';
import type { Domain } from '../../../domain.js';
import type { MemoryRegion, RegionSlice } from '../../../memory/memory-region.js';
import { TestMemory } from './memory.js';
import type { DeviceMemorySettings } from './settings.js';

/** The dimensions of a test's memory. */
export interface Layout {
  /** Bytes of the largest transfer. */
  readonly room: number;
  /** The number of transfers that have separate places: those of a window, or 1. */
  readonly places: number;
  readonly access: readonly MrAccess[];
  /** The minimum bytes of a place. */
  readonly least: number;
}

/** Bytes that fabtests keep free before the places, for acknowledgements. */
export const RESERVED = 4;

const LINE = 64;

/**
 * The memory of a test: one registered region, first the receive half and then the send half, as in
 * fabtests since 1.19. The peer relies on this layout: it reads the send half `half` bytes from the
 * region's start.
 */
export class Buffers {
  /** To fill and verify the bytes. */
  readonly memory: TestMemory;
  /** Bytes of the receive half, which the send half follows. */
  readonly half: number;

  private constructor(memory: TestMemory, half: number) {
    this.memory = memory;
    this.half = half;
  }

  static async allocate(
    domain: Domain,
    layout: Layout,
    on?: DeviceMemorySettings,
  ): Promise<Buffers> {
    const place = Math.max(layout.room, layout.least);
    const half = Math.ceil((place * layout.places + RESERVED) / LINE) * LINE;
    return new Buffers(await TestMemory.allocate(domain, half * 2, layout.access, on), half);
  }

  get region(): MemoryRegion {
    return this.memory.region;
  }

  /** `size` bytes of the receive half, from `offset` on. */
  receiving(size: number, offset = 0): RegionSlice {
    return this.region.slice(offset, offset + size);
  }

  /** `size` bytes of the send half, from `offset` on. */
  sending(size: number, offset = 0): RegionSlice {
    return this.region.slice(this.half + offset, this.half + offset + size);
  }
}
