import { describeValue, invalidArgValue } from '../base/errors.js';
import type { EpType, OpenableEpType } from '../base/flags.js';
import type { AnyInfo } from '../contract/info-types.js';

/** Excludes entries whose endpoint type, if known, this package cannot open. */
export type Openable<T extends EpType> = [T] extends [Exclude<EpType, OpenableEpType>]
  ? never
  : unknown;

const TYPES: readonly string[] = ['FI_EP_RDM', 'FI_EP_DGRAM'] satisfies OpenableEpType[];

// The mode bits that this package supports.
const MODES: readonly string[] = ['FI_CONTEXT', 'FI_CONTEXT2', 'FI_MSG_PREFIX', 'FI_RX_CQ_DATA'];

/** Throws if this package cannot open endpoints of this type. `name` is the argument's name. */
export function checkOpenable(name: string, type: EpType): void {
  if (TYPES.includes(type)) return;
  const reason =
    type === 'FI_EP_MSG'
      ? 'connected endpoints are not supported; use FI_EP_RDM'
      : `use one of ${TYPES.join(', ')}`;
  throw invalidArgValue(name, `cannot be ${describeValue(type)}: ${reason}`);
}

/** Throws if this package cannot open a domain or an endpoint with this entry. */
export function checkEntry({ mode, epAttr, fabricAttr }: AnyInfo): void {
  checkOpenable('info.epAttr.type', epAttr.type);
  const demand = mode.find((name) => !MODES.includes(name));
  if (demand !== undefined) {
    throw invalidArgValue(
      'info',
      `requires ${demand}, which this package does not support; call getInfo() with hints`,
    );
  }
  if (mode.includes('FI_MSG_PREFIX') && epAttr.type !== 'FI_EP_DGRAM') {
    throw invalidArgValue(
      'info',
      `has FI_MSG_PREFIX, which this package supports for datagrams only, not for ${epAttr.type} of ${fabricAttr.provName}; call getInfo() with hints`,
    );
  }
}
