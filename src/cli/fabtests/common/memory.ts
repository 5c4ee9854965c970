import type { AcceleratorMemory } from '../../../accelerator/memory.js';
import type { MrAccess } from '../../../base/flags.js';
import type { Domain } from '../../../domain.js';
import type { MemoryRegion, RegionSlice } from '../../../memory/memory-region.js';
import { DEVICE_LIBRARIES } from './device-library.js';
import { pattern, verifyPattern } from './pattern.js';
import type { DeviceMemorySettings } from './settings.js';

const regions = new WeakMap<Domain, MemoryRegion[]>();
const onDevices = new WeakMap<Domain, AcceleratorMemory[]>();

function keep<T>(lists: WeakMap<Domain, T[]>, domain: Domain, each: T): void {
  const list = lists.get(domain);
  if (list) list.push(each);
  else lists.set(domain, [each]);
}

/** Allocates memory that stays registered until its domain closes at the end of the command. */
export async function allocateFor(
  domain: Domain,
  length: number,
  access: readonly MrAccess[],
): Promise<MemoryRegion> {
  const region = await domain.allocate(length, access);
  keep(regions, domain, region);
  return region;
}

/** Registered memory of a test, of the host or of a device. */
export class TestMemory {
  readonly region: MemoryRegion;
  readonly #onDevice: AcceleratorMemory | undefined;

  private constructor(region: MemoryRegion, onDevice?: AcceleratorMemory) {
    this.region = region;
    this.#onDevice = onDevice;
  }

  /** Allocates zeros. They stay registered until their domain closes. */
  static async allocate(
    domain: Domain,
    length: number,
    access: readonly MrAccess[],
    on?: DeviceMemorySettings,
  ): Promise<TestMemory> {
    if (on === undefined) return new TestMemory(await allocateFor(domain, length, access));
    const memory = DEVICE_LIBRARIES[on.type].allocate(length, { device: on.device });
    keep(onDevices, domain, memory);
    memory.fill(0);
    const region = await register(domain, memory, access, on);
    keep(regions, domain, region);
    return new TestMemory(region, memory);
  }

  /** Fills a part with the pattern, from its start. */
  fill(part: RegionSlice): void {
    this.write(part, pattern(part.length));
  }

  /** Copies bytes to the start of a part. */
  write(part: RegionSlice, bytes: Uint8Array): void {
    const memory = this.#onDevice;
    if (memory === undefined) part.bytes.set(bytes);
    else memory.write(bytes, part.offset);
  }

  /** Sets a part to zeros. */
  clear(part: RegionSlice): void {
    const memory = this.#onDevice;
    if (memory === undefined) part.bytes.fill(0);
    else memory.fill(0, part.offset, part.offset + part.length);
  }

  /** Throws if a part differs from the pattern. */
  verify(part: RegionSlice): void {
    verifyPattern(this.read(part));
  }

  /** The bytes of a part. Those of a device are copied to the host. */
  read(part: RegionSlice): Uint8Array {
    const memory = this.#onDevice;
    return memory === undefined
      ? part.bytes
      : memory.read(new Uint8Array(part.length), part.offset);
  }
}

async function register(
  domain: Domain,
  memory: AcceleratorMemory,
  access: readonly MrAccess[],
  on: DeviceMemorySettings,
): Promise<MemoryRegion> {
  if (on.access !== 'FI_MR_DMABUF') return domain.register(memory, access);
  using dmabuf = memory.dmabuf();
  return await domain.register(dmabuf, access);
}

/** Frees the memory of devices. The domain must have been closed. */
export function freeDeviceMemory(domain: Domain): void {
  for (const memory of onDevices.get(domain) ?? []) memory.free();
  onDevices.delete(domain);
}
