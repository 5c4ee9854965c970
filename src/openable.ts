import { describeValue, invalidArgValue } from './errors.js';
import type { EpType, OpenableEpType } from './flags.js';
import type { AnyInfo } from './info-types.js';

/** Excludes entries of endpoint types that are not opened, where the type is known. */
export type Openable<T extends EpType> = [T] extends [Exclude<EpType, OpenableEpType>]
  ? never
  : unknown;

const TYPES: readonly string[] = ['FI_EP_RDM', 'FI_EP_DGRAM'] satisfies OpenableEpType[];

// What getInfo(null) may list but nobody here takes care of.
const MODES: readonly string[] = ['FI_CONTEXT', 'FI_CONTEXT2', 'FI_MSG_PREFIX', 'FI_RX_CQ_DATA'];

/** Refuses an endpoint type that is not opened, where `name` says it. */
export function checkOpenable(name: string, type: EpType): void {
  if (TYPES.includes(type)) return;
  const reason =
    type === 'FI_EP_MSG'
      ? 'connected endpoints are not supported; use FI_EP_RDM'
      : `it is none of ${TYPES.join(', ')}`;
  throw invalidArgValue(name, `cannot be ${describeValue(type)}: ${reason}`);
}

/** Refuses an entry of getInfo() that this package cannot open a domain or an endpoint with. */
export function checkEntry({ mode, epAttr, fabricAttr }: AnyInfo): void {
  checkOpenable('info.epAttr.type', epAttr.type);
  const demand = mode.find((name) => !MODES.includes(name));
  if (demand !== undefined) {
    throw invalidArgValue(
      'info',
      `demands ${demand}, which this package does not do; ask getInfo() with hints`,
    );
  }
  if (mode.includes('FI_MSG_PREFIX') && epAttr.type !== 'FI_EP_DGRAM') {
    throw invalidArgValue(
      'info',
      `has FI_MSG_PREFIX, which this package does for datagrams only, not for ${epAttr.type} of ${fabricAttr.provName}; ask getInfo() with hints`,
    );
  }
}
