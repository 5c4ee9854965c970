import { checkOptions } from './checks.js';
import type { DomainOptions } from './domain.js';
import type { Endpoint } from './endpoint/compose.js';
import { FabricError } from './errors.js';
import { Fabric } from './fabric.js';
import type { Cap, OpenableEpType } from './flags.js';
import type { Hints } from './hints.js';
import { getInfo } from './info.js';
import type { AnyInfo } from './info-types.js';
import { checkOpenable } from './openable.js';

/** What open() looks for. */
export interface OpenOptions<T extends OpenableEpType = OpenableEpType, C extends Cap = Cap>
  extends DomainOptions {
  /** `'efa'`, `'shm'`, `'tcp'`, ...; the best there is when left out. */
  readonly provider?: string;
  /** `'FI_EP_RDM'` when left out. */
  readonly type?: T;
  /** `['FI_MSG']` when left out. */
  readonly caps?: readonly C[];
  /** The domain's name, usually the NIC's: `'rdmap0s6-rdm'`, `'eth0'`. */
  readonly domain?: string;
  /** The fabric's name. With efa, `'efa'` is taken before `'efa-direct'` when this is left out. */
  readonly fabric?: string;
  /** A local address to be reached at. */
  readonly node?: string;
  readonly service?: string;
}

const ENODATA = 61;
const DIRECT = 'efa-direct';

/**
 * Opens an endpoint and everything it needs, ready to use: a fabric, a domain, a completion queue, an
 * address vector. Closing the endpoint closes all of them, and so does closing its domain.
 *
 * @throws FabricError FI_ENODATA where nothing on this machine matches.
 *
 * @example
 * ```ts
 * const ep = await open({ provider: 'shm', caps: ['FI_MSG'] });
 * const peer = ep.av.insert(addressOfPeer);
 * await ep.send(Buffer.from('hello'), peer);
 * ```
 */
export async function open<
  const T extends OpenableEpType = 'FI_EP_RDM',
  const C extends Cap = 'FI_MSG',
>(options?: OpenOptions<T, C>): Promise<Endpoint<T, C>> {
  const checked = checkOptions('options', options as OpenOptions<T, C>);
  const info = find(checked);
  const fabric = Fabric.open(info);
  try {
    const domain = fabric.domain(info, checked);
    const cq = domain.completionQueue();
    const endpoint = domain.endpoint(info, { av: domain.addressVector(), cq });
    endpoint.owns(domain);
    domain.owns(fabric);
    return endpoint as unknown as Endpoint<T, C>;
  } catch (error) {
    await fabric.close();
    throw error;
  }
}

function find(options: Partial<OpenOptions>): AnyInfo {
  const {
    provider,
    type = 'FI_EP_RDM',
    caps = ['FI_MSG'],
    domain,
    fabric,
    node,
    service,
  } = options;
  checkOpenable('options.type', type);
  const hints = {
    epAttr: { type },
    caps,
    ...(domain !== undefined && { domainAttr: { name: domain } }),
    fabricAttr: {
      ...(provider !== undefined && { provName: provider }),
      ...(fabric !== undefined && { name: fabric }),
    },
    ...((node !== undefined || service !== undefined) && {
      node,
      service,
      flags: ['FI_SOURCE'],
    }),
  } satisfies Hints;
  const info = preferredEntry(getInfo(hints), fabric);
  if (info === undefined) {
    const detail = `no ${type} endpoint with ${caps.join(', ')}${provider ? ` on ${provider}` : ''}`;
    throw new FabricError(ENODATA, 'fi_getinfo', {
      detail,
      hint: 'see getInfo() for what there is',
    });
  }
  return inOrder(info, hints);
}

// efa of libfabric 2 keeps messages in order where it was asked to.
function inOrder(info: AnyInfo, hints: Hints): AnyInfo {
  const msgOrder = ['FI_ORDER_SAS'] as const;
  const { type } = info.epAttr;
  if (type !== 'FI_EP_RDM' || info.rxAttr.msgOrder.includes(msgOrder[0])) return info;
  const ordered = getInfo({ ...hints, txAttr: { msgOrder }, rxAttr: { msgOrder } });
  return ordered.find((entry) => isSame(entry, info)) ?? info;
}

const isSame = (a: AnyInfo, b: AnyInfo) =>
  a.fabricAttr.provName === b.fabricAttr.provName &&
  a.fabricAttr.name === b.fabricAttr.name &&
  a.domainAttr.name === b.domainAttr.name;

/**
 * @internal The entry to open, where a fabric may have been asked for. Messages of efa-direct are no
 * longer than a packet and come in any order: it is for those who ask.
 */
export function preferredEntry(
  entries: readonly AnyInfo[],
  fabric: string | undefined,
): AnyInfo | undefined {
  return (
    entries.find(({ fabricAttr }) => fabricAttr.name === fabric || fabricAttr.name !== DIRECT) ??
    entries[0]
  );
}
