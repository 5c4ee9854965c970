import type { AnyInfo } from '../contract/info-types.js';

/** Whether software takes the place of the network card: softefa. */
export const isSoftwareNic = ({ domainAttr, nic }: Pick<AnyInfo, 'domainAttr' | 'nic'>): boolean =>
  /\(emulated\)/.test(nic?.deviceAttr?.firmware ?? '') ||
  (domainAttr.name ?? '').startsWith('softefa');
