import { styleText } from 'node:util';
import type { Diagnosis, Finding, Status } from './diagnosis.js';

type Style = Parameters<typeof styleText>[0];

const LOOKS: Readonly<Record<Status, readonly [symbol: string, style: Style]>> = {
  ok: ['✔', 'green'],
  note: ['ℹ', 'cyan'],
  warning: ['⚠', 'yellow'],
  error: ['✖', 'red'],
  skipped: ['-', 'gray'],
};

// Colours are used on a terminal only, and not if NO_COLOR is set.
const paint = (style: Style, text: string) => styleText(style, text, { stream: process.stdout });

const NARROWEST = 72; // columns with room for what was found beside its check
const BELOW = 4; // columns before what is found, below its check
const LABEL = 10; // columns of labels such as 'expected' and 'fix', including the space around them

/**
 * The diagnosis as text: a line for each check, and details of those that failed or, if verbose, of
 * all.
 */
export function diagnosisText(report: Diagnosis, verbose: boolean, columns: number): string {
  const width = Math.max(...report.findings.map(({ title }) => title.length));
  const groups = [...new Set(report.findings.map(({ group }) => group))];
  const sections = groups.map((group) => {
    const findings = report.findings.filter((finding) => finding.group === group);
    const shown = verbose ? findings : findings.filter(({ status }) => status !== 'skipped');
    if (shown.length === 0) return '';
    const blocks = shown.map((finding) => findingText(finding, width, verbose, columns));
    return `${paint('bold', group)}\n${blocks.join('')}\n`;
  });
  return sections.join('') + summaryText(report, verbose);
}

function findingText(finding: Finding, width: number, verbose: boolean, columns: number): string {
  const { status, title, found, expected, why, fix } = finding;
  const [symbol, style] = LOOKS[status];
  const failed = status !== 'ok' && status !== 'skipped';
  const head = `  ${paint(style, symbol)} ${title}`;
  const beside = `${head.padEnd(head.length + width - title.length)}  `;
  const lines =
    columns < NARROWEST
      ? [head, ' '.repeat(BELOW) + wrapped(found, columns, BELOW)]
      : [beside + wrapped(found, columns, width + 6)];
  const label = (name: string) => paint('dim', `    ${name.padEnd(LABEL - 1)} `);
  const detail = (name: string, text: string) =>
    lines.push(label(name) + wrapped(text, columns, LABEL + 4));
  if (failed || verbose) {
    detail('expected', expected);
    detail('why', why.replaceAll('\n', ' '));
    // Commands keep their lines, so that they can be copied.
    if (fix !== null) lines.push(label('fix') + fix.replaceAll('\n', `\n${' '.repeat(LABEL + 4)}`));
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** Text wrapped to the width of a terminal. Its own newlines stay. */
function wrapped(text: string, columns: number, indent: number): string {
  const room = Math.max(columns - indent, 30);
  const lines = text.split('\n').flatMap((line) => {
    const broken: string[] = [];
    let current = '';
    for (const word of line.split(' ')) {
      if (current !== '' && current.length + 1 + word.length > room) {
        broken.push(current);
        current = word;
      } else {
        current = current === '' ? word : `${current} ${word}`;
      }
    }
    return [...broken, current];
  });
  return lines.join(`\n${' '.repeat(indent)}`);
}

function summaryText(report: Diagnosis, verbose: boolean): string {
  const count = (status: Status) =>
    report.findings.filter((finding) => finding.status === status).length;
  const counted = (number: number, noun: string) =>
    number === 0 ? [] : [`${number} ${noun}${number === 1 ? '' : 's'}`];
  const problems = [...counted(count('error'), 'error'), ...counted(count('warning'), 'warning')];
  const [skipped, apply] = [count('skipped'), count('skipped') === 1 ? 'does' : 'do'];
  const [verdict, style] = verdictOf(report);
  return [
    paint('bold', paint(style, verdict)),
    ...(problems.length > 0 ? [`: ${problems.join(', ')}`] : []),
    '.',
    ...(skipped > 0 && !verbose ? [` ${counted(skipped, 'check')} ${apply} not apply (-v).`] : []),
    '\n',
  ].join('');
}

function verdictOf({ efa, emulated, peer, status, findings }: Diagnosis): [string, Style] {
  const library = findings.find(({ id }) => id === 'libfabric.library');
  if (library?.status === 'error') return ['libfabric cannot be used', 'red'];
  if (efa === 'unusable') return ['There is an EFA, but it cannot be used', 'red'];
  const worst = { ok: 'green', warning: 'yellow', error: 'red' } as const;
  if (efa === 'absent') {
    const rest = status === 'ok' ? '; everything else is fine' : '';
    return [`This machine has no EFA${rest}`, worst[status]];
  }
  const software = emulated ? ', in software' : '';
  if (peer === undefined) return [`EFA works${software}`, status === 'ok' ? 'green' : 'yellow'];
  if (peer.reached) return [`EFA works here and to ${peer.host}${software}`, worst[status]];
  return [`EFA works here${software}, but not to ${peer.host}`, 'red'];
}
