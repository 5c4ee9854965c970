// docs/from-c.md gives reasons why this package does not expose some features: which providers offer them.
import '../support/softefa.js';
import { type AnyInfo, getInfo } from 'libfabric';
import { expect, test } from 'vitest';

const entries = getInfo(null);
const providersOf = (has: (info: AnyInfo) => boolean) => [
  ...new Set(entries.filter(has).map(({ fabricAttr }) => fabricAttr.provName)),
];

test('the list of providers contains efa', () => {
  expect(providersOf(() => true)).toContain('efa');
});

test('only rxm offers collectives', () => {
  const offering = providersOf(({ caps }) => caps.includes('FI_COLLECTIVE'));
  expect(offering).toEqual(offering.filter((name) => /;ofi_rxm$|^off_coll$/.test(name ?? '')));
});

test('only sockets offers triggered operations', () => {
  const offering = providersOf(({ caps }) => caps.includes('FI_TRIGGER'));
  expect(offering).toEqual(offering.filter((name) => name === 'sockets'));
});

test('efa offers neither multicast nor connected endpoints', () => {
  const efa = entries.filter(({ fabricAttr }) => fabricAttr.provName === 'efa');
  expect(efa.filter(({ caps }) => caps.includes('FI_MULTICAST'))).toEqual([]);
  expect(efa.filter(({ epAttr }) => epAttr.type === 'FI_EP_MSG')).toEqual([]);
});

test('no provider requires regions that are bound to endpoints', () => {
  const bound = ['FI_MR_ENDPOINT', 'FI_MR_RMA_EVENT'] as const;
  const needing = ({ domainAttr }: AnyInfo) =>
    bound.some((mode) => domainAttr.mrMode.includes(mode));
  expect(providersOf(needing)).toEqual([]);
});
