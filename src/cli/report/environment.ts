import { dateText } from './format.js';
import { groupsOf, type Html, html, section, table } from './html.js';
import type { NamedMatrix, Run } from './run.js';

type Measured = Run | NamedMatrix;

const FIELDS: Record<string, (one: Measured) => string | undefined> = {
  file: ({ file }) => file,
  started: ({ startedAt }) => startedAt && `${dateText(startedAt)} UTC`,
  arguments: (one) => [one.command, ...one.arguments].join(' '),
  side: (one) => ('role' in one ? one.role : undefined),
  options: (one) => ('options' in one ? optionsText(one.options) : undefined),
  provider: ({ device }) => device?.provider,
  fabric: ({ device }) => device?.fabric,
  domain: ({ device }) => device?.domain,
  'endpoint type': ({ device }) => device?.endpointType,
  protocol: ({ device }) => device?.protocol,
  'software device': ({ device }) => (device?.software ? 'yes' : undefined),
  package: ({ software }) => software?.package,
  libfabric: ({ software }) => software?.libfabric,
  'Node.js': ({ software }) => software?.node,
  kernel: ({ software }) => software?.kernel,
};

const MOST_COLUMNS = 6;
const ALWAYS_OTHER = new Set(['file', 'started']);

/** Where and how each result was measured. Differences are marked. */
export function environmentSection(all: readonly Measured[]): Html | undefined {
  if (all.length === 0) return undefined;
  return section(
    'Environment',
    groupsOf(all, MOST_COLUMNS).map((group) => environmentTable(group, all)),
  );
}

/** The environment of some of all results. */
function environmentTable(some: readonly Measured[], all: readonly Measured[]): Html {
  const head = html`<tr><td></td>${some.map((one) => html`<th scope="col" class="text">${one.name}</th>`)}</tr>`;
  const rows = Object.entries(FIELDS).flatMap(([name, textOf]) => {
    const values = all.map((one) => textOf(one) ?? '');
    if (values.every((value) => value === '')) return [];
    const differs = !ALWAYS_OTHER.has(name) && new Set(values.filter(Boolean)).size > 1;
    const cells = some.map((one) => html`<td class="text">${textOf(one)}</td>`);
    return [
      html`<tr${differs && html` class="differs"`}><th scope="row" class="text">${name}</th>${cells}</tr>`,
    ];
  });
  return table('How each was measured; rows that differ are marked', head, rows);
}

function optionsText(options: Run['options']): string {
  const texts = Object.entries(options ?? {}).map(([name, value]) =>
    typeof value === 'object' ? `${name} ${JSON.stringify(value)}` : `${name} ${value}`,
  );
  return texts.join(', ');
}
