import { constants } from 'node:os';
import { withJson } from '../base/describe.js';
import { identityOf, readText, rootOf } from '../base/sysfs.js';
import { acceleratorsNear } from './accelerators.js';
import type { Device, EfaAttributes } from './device-types.js';
import { isRdmaCoreNotFound, VerbsError } from './errors.js';
import { type Found, findDevices } from './find.js';
import { ATOMICS, bitNames, DEVICE_CAPABILITIES, EFA_CAPABILITIES, guidText } from './names.js';
import { type NativeDevice, queryDevice, queryEfa } from './native.js';
import { portFromVerbs, portsFromSysfs } from './ports.js';

const AMAZON = 0x1d0f;
const { ENODEV } = constants.errno;

/**
 * The RDMA devices of this machine, sorted by name. Each is opened and queried:
 * ibv_get_device_list(3), ibv_query_device(3), ibv_query_port(3), efadv_query_device(3). Without
 * devices the list is empty, and {@link whyNoDevices} gives the reason. A device that cannot be
 * opened, for example without permission, has `error` and its data from sysfs.
 *
 * @throws Error ERR_RDMA_CORE_NOT_FOUND if libibverbs is not installed. VerbsError if
 * ibv_get_device_list(3) fails.
 */
export function devices(): Device[] {
  return findDevices().map(describe);
}

function describe({ name, path, guid }: Found): Device {
  const fromSysfs = identityOf(path);
  const opened = attempt(() => (guid === undefined ? notListed() : queryDevice(name)));
  const { verbs, efa, error } = opened.error
    ? { verbs: undefined, efa: null, error: opened.error }
    : withEfa(name, opened.value);
  const isEfa = (verbs?.vendorId ?? fromSysfs.vendorId) === AMAZON;
  const firmware = verbs?.firmware || fromSysfs.firmware;
  return {
    name,
    nodeGuid: guid === undefined ? readText(path, 'node_guid') : guidText(guid),
    systemImageGuid: verbs ? guidText(verbs.sysImageGuid) : readText(path, 'sys_image_guid'),
    sysfsPath: path,
    ...fromSysfs,
    firmware,
    vendorId: verbs?.vendorId ?? fromSysfs.vendorId,
    vendorPartId: verbs?.vendorPartId ?? fromSysfs.vendorPartId,
    hardwareVersion: verbs?.hardwareVersion ?? null,
    capabilities: bitNames(verbs?.capFlags ?? 0, DEVICE_CAPABILITIES),
    atomics: (verbs && ATOMICS[verbs.atomicCap]) ?? null,
    limits: verbs ? withJson(verbs.limits) : null,
    ports: verbs ? verbs.ports.map((port) => portFromVerbs(path, port)) : portsFromSysfs(path),
    efa,
    domains: isEfa ? [`${name}-rdm`, `${name}-dgrm`] : [name],
    accelerators: acceleratorsNear(rootOf(path), fromSysfs.pciAddress),
    emulated: /^softefa_\d+$/.test(name),
    error,
  };
}

function notListed(): never {
  const text = 'libibverbs has no driver for this device, or this container has no /dev/infiniband';
  throw new VerbsError(ENODEV, 'ibv_get_device_list', text);
}

/** Adds the EFA attributes to a device of Amazon. */
function withEfa(name: string, verbs: NativeDevice) {
  if (verbs.vendorId !== AMAZON) return { verbs, efa: null, error: null };
  const { value, error } = attempt(() => efaAttributes(name));
  return { verbs, efa: value ?? null, error: error ?? null };
}

function efaAttributes(name: string): EfaAttributes {
  const { deviceCaps, ...limits } = queryEfa(name);
  return withJson({ ...limits, capabilities: bitNames(deviceCaps, EFA_CAPABILITIES) });
}

type Attempt<T> =
  | { readonly value: T; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: NonNullable<Device['error']> };

function attempt<T>(call: () => T): Attempt<T> {
  try {
    return { value: call() };
  } catch (error) {
    if (error instanceof VerbsError || isRdmaCoreNotFound(error)) return { error };
    throw error;
  }
}
