// The README's table "What works where" agrees with the attributes of endpoints, without environment
// variables.
import '../support/efa-defaults.js';
import { type Cap, type Endpoint, getInfo, open, version } from 'libfabric';
import { expect, test } from 'vitest';
import { textOf } from '../support/documents.js';
import { available, closing, loopback, widestData } from '../support/transfer.js';

const table = /^## What works where\n[^|]*((?:\|[^\n]*\n)+)/m.exec(textOf('README.md'))?.[1] ?? '';
const rows = table.split('\n').map((line) =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim()),
);
const cells = (start: string): string[] => {
  const row = rows.find(([name]) => name?.startsWith(start));
  return (row ?? []).slice(1);
};
const names = (rows[0] ?? []).slice(1);
const columns = names.map((name, i) => [name, cells('endpoint type')[i] ?? '', i] as const);

const CAPS: readonly Cap[] = ['FI_MSG', 'FI_TAGGED', 'FI_RMA', 'FI_ATOMIC', 'FI_MULTI_RECV'];

/** Returns an endpoint's value for a row by the row's label, or undefined if the endpoint has none. */
function cellOf(ep: Endpoint, label: string): string | undefined {
  const { epAttr, txAttr } = ep.info;
  const calls = [...label.matchAll(/`(\w+)`/g)].map((match) => match[1] as string);
  const hasCalls = calls.every((call) => call in ep);
  if (label.startsWith('longest message')) {
    return epAttr.maxMsgSize > 2n ** 40n ? 'any' : String(epAttr.maxMsgSize);
  }
  if (label.startsWith('messages of a peer')) {
    return txAttr.msgOrder.includes('FI_ORDER_SAS') ? 'yes' : 'no';
  }
  if (label.startsWith('`inject`')) return String(txAttr.injectSize || 'none');
  if (calls.length === 0) return undefined;
  if (!hasCalls) return 'no';
  return label.startsWith('`writedata`') ? String(widestData(ep).toString(16).length / 2) : 'yes';
}

test('the table has a column for each provider', () => {
  expect(names).toEqual(['tcp', 'shm', 'efa', 'efa-direct', 'udp', 'efa']);
});

test.for(columns)('%s, %s', async ([name, kind, i], context) => {
  const direct = name === 'efa-direct';
  const matches = version().major === (direct ? 2 : 1);
  if (!matches) context.skip('the table is about another libfabric');
  const type = `FI_EP_${kind}` as 'FI_EP_RDM' | 'FI_EP_DGRAM';
  const requested = direct ? 'efa' : name === 'tcp' ? 'tcp;ofi_rxm' : name;
  const provider = available(context, requested, ['FI_MSG'], type);
  const fabric = direct ? { fabric: name } : {};
  const offered = (cap: Cap) => {
    const fabricAttr = { provName: provider, ...(direct && { name }) };
    return getInfo({ fabricAttr, epAttr: { type }, caps: [cap] }).length > 0;
  };
  if (direct && !offered('FI_RMA')) context.skip('built without RDMA writes');
  const caps = CAPS.filter(offered);
  const ep = closing(await open({ provider, type, caps, ...fabric, ...loopback(provider) }));

  const values = rows
    .slice(2)
    .map(([label = '', ...documented]) => [label, documented[i]] as const);
  for (const [label, documented] of values) {
    expect(documented, label).toBe(cellOf(ep as Endpoint, label) ?? documented);
  }
});
