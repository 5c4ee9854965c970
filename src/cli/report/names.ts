// Names of results: the shortest that distinguish them.
import type { MatrixResult, ResultDevice } from '../shared/result.js';
import { dateText } from './format.js';
import type { Measurement } from './run.js';

type Measured = (Measurement | MatrixResult) & { readonly file: string };

// In the order in which a name has them, and in which they are preferred.
const FIELDS: readonly ((measured: Measured) => string | undefined)[] = [
  ({ command }) => command,
  (measured) => ('operation' in measured ? measured.operation : undefined),
  ({ device }) => device && providerText(device),
  ({ device }) => device?.domain,
  ({ software }) => software && `libfabric ${software.libfabric}`,
  ({ software }) => software && `Node.js ${software.node}`,
  ({ startedAt }) => (startedAt === undefined ? undefined : dateText(startedAt)),
  ({ file }) => file,
];
const USUAL = [0, 1, 2]; // the others distinguish results, but do not describe them
const DATE = 6;

// tcp;ofi_rxm is tcp with the layer that gives it RDM endpoints.
const providerText = ({ provider, software }: ResultDevice): string =>
  provider.replace(/;ofi_rx[dm]$/, '') + (software ? ' in software' : '');

/** A name for each result: its label, or the fewest fields that distinguish it from the others. */
export function namesOf(all: readonly Measured[]): string[] {
  const unlabelled = all.filter(({ label }) => !label);
  const fields = distinguishing(unlabelled);
  const taken = new Set<string>();
  return all.map((measured) => {
    const name = measured.label || nameBy(fields, measured);
    let free = name;
    for (let i = 2; taken.has(free); i++) free = `${name} (${i})`;
    taken.add(free);
    return free;
  });
}

function distinguishing(all: readonly Measured[]): readonly number[] {
  if (all.length < 2) return USUAL;
  const subsets = Array.from({ length: 2 ** FIELDS.length - 1 }, (_, bits) =>
    FIELDS.flatMap((_, field) => (((bits + 1) >> field) & 1 ? [field] : [])),
  );
  // Few fields first; of as many, those at the front.
  subsets.sort((a, b) => a.length - b.length || a.join().localeCompare(b.join()));
  const distinct = subsets.find((fields) => {
    const names = all.map((measured) => nameBy(fields, measured));
    return !names.includes('') && new Set(names).size === all.length;
  });
  if (distinct?.every((field) => field < DATE)) return distinct;
  const varying = USUAL.filter(
    (field) => new Set(all.map((measured) => FIELDS[field]?.(measured))).size > 1,
  );
  return [...new Set([...varying, ...(distinct ?? USUAL)])];
}

const nameBy = (fields: readonly number[], measured: Measured): string =>
  fields.flatMap((field) => FIELDS[field]?.(measured) ?? []).join(' ');
