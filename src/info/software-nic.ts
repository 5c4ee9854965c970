import type { AnyInfo } from '../contract/info-types.js';

/** Whether the network card is emulated in software: softefa. */
export const isSoftwareNic = ({ domainAttr, nic }: Pick<AnyInfo, 'domainAttr' | 'nic'>): boolean =>
  (nic?.deviceAttr?.name ?? domainAttr.name ?? '').startsWith('softefa');
