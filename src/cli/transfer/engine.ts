import { FabricError } from '../../base/errors.js';
import type { AnyInfo } from '../../contract/info-types.js';
import { getInfo } from '../../info/info.js';
import { TransferEngine } from '../../transfer/transfer-engine.js';
import { chooseNics, nicOf } from '../fabtests/common/nics.js';
import { isNameless } from '../fabtests/common/open-endpoint.js';
import type { ResultDevice } from '../shared/result.js';
import { deviceOfEntry } from '../shared/result-header.js';
import type { Flags } from './options.js';
import type { Plan } from './plan.js';

const CAPS = ['FI_MSG', 'FI_RMA'] as const;

/** The rails of one side. */
export interface Rails {
  readonly provider: string;
  /** A number of rails, or the names of domains. */
  readonly nics: 'all' | number | readonly string[];
}

/** There is no NIC of that name. */
export class UnknownNic extends Error {
  override readonly name = 'UnknownNic';
}

/**
 * The rails that the options select.
 *
 * @throws UnknownNic; FabricError FI_ENODATA if the provider has no NIC.
 */
export function chooseRails({ provider, nics }: Pick<Flags, 'provider' | 'nics'>): Rails {
  const isNamed = typeof nics === 'object';
  try {
    const choice = { ...(provider !== undefined && { provider }), ...(isNamed && { nics }) };
    const entries = chooseNics(choice, CAPS, 0);
    return {
      provider: provider ?? (entries[0] as AnyInfo).fabricAttr.provName ?? '',
      nics: isNamed ? entries.map(({ domainAttr }) => domainAttr.name ?? '') : nics,
    };
  } catch (error) {
    if (FabricError.is(error) || !isNamed) throw error;
    throw new UnknownNic((error as Error).message);
  }
}

/** Opens the engine of one side. `address` is the local address of rails of tcp. */
export function openEngine(
  { provider, nics, address }: Rails & { readonly address: string | undefined },
  { slice, window, stall, threads, map = false }: Plan,
): Promise<TransferEngine> {
  return TransferEngine.open({
    provider,
    nics,
    mapMemory: map,
    ...(address !== undefined && !isNameless(provider) && { node: address }),
    ...(slice !== undefined && { slice }),
    ...(window !== undefined && { window }),
    ...(stall !== undefined && { stall }),
    ...(threads !== undefined && { threads }),
  });
}

/** The provider of an engine. */
export const providerOf = ({ rails }: TransferEngine): string => rails[0]?.provider ?? '';

/** The names of an engine's rails: those of their NICs, with a number if several have the same. */
export function railNames({ rails }: TransferEngine): string[] {
  const names = rails.map(({ nic }) => nic.replace(/-rdm$/, ''));
  return names.map((name, i) => {
    if (names.indexOf(name) === names.lastIndexOf(name)) return name;
    return `${name} (${names.slice(0, i + 1).filter((each) => each === name).length})`;
  });
}

/** The device of the first rail. */
export function deviceOfEngine({ rails: [rail] }: TransferEngine): ResultDevice {
  const { provider = '', fabric = '', nic = '' } = rail ?? {};
  const entries = getInfo({
    caps: CAPS,
    epAttr: { type: 'FI_EP_RDM' },
    fabricAttr: { provName: provider, name: fabric },
    domainAttr: { name: nic },
  }) as AnyInfo[];
  const entry = entries.find((each) => nicOf(each) === nic.replace(/-rdm$/, ''));
  if (entry !== undefined) return deviceOfEntry(entry);
  throw new Error(`${nic} of ${provider} is not there any more`);
}
