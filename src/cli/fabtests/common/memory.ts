import type { Domain } from '../../../domain.js';
import type { MrAccess } from '../../../flags.js';
import type { MemoryRegion } from '../../../memory-region.js';

const regions = new WeakMap<Domain, MemoryRegion[]>();

/** Allocates memory that stays registered until its domain closes at the end of the command. */
export async function allocateFor(
  domain: Domain,
  length: number,
  access: readonly MrAccess[],
): Promise<MemoryRegion> {
  const region = await domain.allocate(length, access);
  const others = regions.get(domain);
  if (others) others.push(region);
  else regions.set(domain, [region]);
  return region;
}
