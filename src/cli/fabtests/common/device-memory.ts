// fabtests' -D, -i, -H and -R: memory of a device, and FI_HMEM.
import type { Cap } from '../../../base/flags.js';
import { getInfo } from '../../../info/info.js';
import { version } from '../../../info/library.js';
import { DEVICE_LIBRARIES } from './device-library.js';
import type { Needs } from './open-endpoint.js';
import type { Session } from './session.js';
import type { DeviceType, Settings } from './settings.js';

/**
 * Chooses how the provider reaches the memory of `-D`, and adds what the entry needs for it:
 * FI_HMEM if the provider offers it, otherwise dmabufs, over efa-direct. The provider is efa unless
 * `-p` names another.
 */
export function withDeviceMemory(given: Settings, needs: Needs): readonly [Settings, Needs] {
  const { deviceMemory, hmem, provider = 'efa' } = given;
  if (deviceMemory === undefined) return [given, hmem ? withCap(needs, 'FI_HMEM') : needs];
  const { type, device } = deviceMemory;
  const library = DEVICE_LIBRARIES[type];
  const name = library.nameOf(device);
  if (deviceMemory.access !== 'FI_MR_DMABUF') library.start?.(device);
  const settings = { ...given, provider };
  const withHmem = withCap(needs, 'FI_HMEM');
  const byPointer = hmem || offers(settings, withHmem);
  const { access = byPointer ? library.hmem : 'FI_MR_DMABUF' } = deviceMemory;
  const chosen = { ...settings, deviceMemory: { ...deviceMemory, name, access } };
  if (access === library.hmem) {
    return [chosen, chosen.fabric === 'efa-direct' ? withCap(withHmem, 'FI_RMA') : withHmem];
  }
  return [overDirect(chosen, needs, type), withCap(hmem ? withHmem : needs, 'FI_RMA')];
}

// With FI_RMA, efa-direct receives messages directly in the posted buffer, not first in memory of the host.
const withCap = (needs: Needs, cap: Cap): Needs => ({
  ...needs,
  caps: needs.caps.includes(cap) ? needs.caps : [...needs.caps, cap],
});

function offers({ provider, fabric, domain }: Settings, { caps }: Needs): boolean {
  const hints = { fabricAttr: { provName: provider, name: fabric }, domainAttr: { name: domain } };
  return getInfo({ ...hints, caps }).length > 0;
}

// The provider of efa copies messages with the CPU, which cannot reach a dmabuf.
function overDirect(settings: Settings, needs: Needs, type: DeviceType): Settings {
  const { provider, fabric } = settings;
  if (provider !== 'efa' || fabric !== undefined) return settings;
  const direct = { ...settings, fabric: 'efa-direct' };
  if (offers(direct, needs)) return direct;
  const { build } = DEVICE_LIBRARIES[type];
  if (needs.caps.includes('FI_TAGGED')) {
    throw new Error(
      `-D ${type}: without FI_HMEM the memory is reached over efa-direct, which has no tagged messages: use ` +
        `rdm-bw or rdm-pingpong, or a libfabric with ${build}`,
    );
  }
  throw new Error(
    `-D ${type}: efa of libfabric ${version().string} offers neither FI_HMEM nor efa-direct with these ` +
      `operations: use a libfabric with ${build}, such as the EFA installer's, or libfabric 2.1 or later`,
  );
}

/**
 * Why messages of a size cannot come from the memory of `-D`: the CPU would copy short messages of a
 * dmabuf. Undefined if they can.
 */
export function whyTooShort({ settings, info }: Session, shortest: number): string | undefined {
  const { injectSize } = info.txAttr;
  if (settings.deviceMemory?.access !== 'FI_MR_DMABUF' || shortest > injectSize) return undefined;
  return `-D: a message from a dmabuf has more than ${injectSize} bytes, and the shortest size is ${shortest}`;
}

/** The memory, as a result describes it: `'CUDA device 0 (NVIDIA H100), FI_MR_DMABUF'`. */
export function memoryText({ deviceMemory }: Settings): string | undefined {
  if (deviceMemory === undefined) return undefined;
  const { name, access } = deviceMemory;
  return `${name}, ${access}`;
}
