// Several NICs of one process at once: an endpoint on each.
//
// The measuring loop drives a single NIC (driver 'manual'). Each of several NICs has a native
// thread (driver 'thread'). Writes over four softefa devices with 2 cores: one loop that drives all
// in turn reaches 0.88 M/s at 64 B and 4.7 GB/s at 64 KiB; threads reach 1.07 M/s and 8.4 GB/s.
import { errnoByCode } from '../../../base/error-codes.js';
import { FabricError } from '../../../base/errors.js';
import type { Cap } from '../../../base/flags.js';
import type { AnyInfo, Info } from '../../../contract/info-types.js';
import { getInfo } from '../../../info/info.js';
import { preferredEntry } from '../../../open.js';
import { LISTED, type OpenedEndpoint, openEndpoint } from './open-endpoint.js';

/** Which NICs to use. */
export interface NicChoice {
  /** Default: efa if there is a device, otherwise tcp. */
  readonly provider?: string;
  readonly fabric?: string;
  readonly domain?: string;
  /** The local address of one NIC. */
  readonly source?: string;
  /** Names of NICs, or all. Default: one. */
  readonly nics?: 'all' | readonly string[];
}

/**
 * The entries to open, one for each NIC.
 *
 * @param local the index of the NIC, if one is used. The ranks of a host take NICs in turn.
 * @throws FabricError FI_ENODATA if no NIC matches.
 */
export function chooseNics(choice: NicChoice, caps: readonly Cap[], local: number): AnyInfo[] {
  const provider = choice.provider ?? (entriesOf('efa', choice, caps).length > 0 ? 'efa' : 'tcp');
  const entries = entriesOf(provider, choice, caps);
  const preferred = preferredEntry(entries, choice.fabric);
  if (preferred === undefined) {
    const { domain, fabric, source } = choice;
    const where = [domain && `domain ${domain}`, fabric && `fabric ${fabric}`, source].filter(
      Boolean,
    );
    throw new FabricError(errnoByCode.FI_ENODATA, 'fi_getinfo', {
      detail: [`no endpoint with ${caps.join(', ')} on ${provider}`, ...where].join(', '),
      hint: LISTED,
    });
  }
  const { provName } = preferred.fabricAttr;
  const names = [...new Set(entries.map(nicOf))];
  return chosenNames(choice, names, local).map(
    (name) =>
      preferredEntry(
        entries.filter((entry) => nicOf(entry) === name && entry.fabricAttr.provName === provName),
        choice.fabric,
      ) as AnyInfo,
  );
}

function entriesOf(provider: string, choice: NicChoice, caps: readonly Cap[]): AnyInfo[] {
  const { domain, fabric, source } = choice;
  return getInfo({
    epAttr: { type: 'FI_EP_RDM' },
    caps,
    fabricAttr: { provName: provider, ...(fabric !== undefined && { name: fabric }) },
    ...(domain !== undefined && { domainAttr: { name: domain } }),
    ...(source !== undefined && { node: source, flags: ['FI_SOURCE'] }),
  }) as AnyInfo[];
}

/** A NIC's name: the domain's name without the endpoint type that efa appends. */
export function nicOf({ domainAttr }: AnyInfo): string {
  return (domainAttr.name ?? '').replace(/-rdm$/, '');
}

function chosenNames({ nics }: NicChoice, names: readonly string[], local: number): string[] {
  if (nics === 'all') return [...names];
  if (nics === undefined) return [names[local % names.length] as string];
  const wanted = nics.map((name) => name.replace(/-rdm$/, ''));
  const missing = wanted.find((name) => !names.includes(name));
  if (missing === undefined) return wanted;
  throw new Error(`--nics: no NIC ${missing}; there are ${names.join(', ')}`);
}

/** An endpoint with its fabric and domain. */
export type Nic = Pick<OpenedEndpoint, 'fabric' | 'domain' | 'ep'>;

/** Opens an endpoint on each of these NICs, in their order. */
export async function openNics(infos: readonly AnyInfo[]): Promise<Nic[]> {
  const driver = infos.length === 1 ? 'manual' : 'thread';
  const opened: Nic[] = [];
  try {
    for (const info of infos) opened.push(await openEndpoint(info as Info, { driver }));
    return opened;
  } catch (error) {
    await closeNics(opened);
    throw error;
  }
}

export async function closeNics(nics: readonly Nic[]): Promise<void> {
  await Promise.all(nics.map(({ fabric }) => fabric.close()));
}
