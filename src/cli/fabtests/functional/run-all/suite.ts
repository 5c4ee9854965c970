import type { PeerLink } from '../../common/peer-link.js';
import { CHECKS } from '../all.js';
import { CheckProcess, type SideVerdict } from './test-process.js';

/** What a check has come to, on both sides. */
export interface Outcome {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** What was proved, what went wrong and where, or what is not offered. */
  readonly detail: string;
  readonly server: SideVerdict;
  readonly client: SideVerdict;
}

/** How the checks run. */
export interface Suite {
  readonly names: readonly string[];
  readonly role: 'client' | 'server';
  /** Arguments of a check's command, its name first. */
  readonly argumentsOf: (name: string) => readonly string[];
  /** Seconds that a check may take. */
  readonly limit: number;
}

// Seconds that a side gets for a verdict of its own when the other has failed.
const AFTERWARDS = 3;
// Seconds to the other side's verdict beside those of the check.
const SLACK = 10;

/**
 * Runs the checks one after another, each when both sides are through with the one before: whatever
 * has become of it. Throws PeerGone when the other side has ended.
 */
export async function* runSuite(
  suite: Suite,
  link: PeerLink,
  signal: AbortSignal,
): AsyncGenerator<Outcome, void> {
  for (const name of suite.names) yield await runOne(name, suite, link, signal);
}

async function runOne(
  name: string,
  { role, argumentsOf, limit }: Suite,
  link: PeerLink,
  signal: AbortSignal,
): Promise<Outcome> {
  signal.throwIfAborted();
  const check = new CheckProcess(argumentsOf(name));
  const interrupt = () => check.endWithin(0, 'interrupted');
  signal.addEventListener('abort', interrupt);
  check.endWithin(limit, `it had not ended after ${limit} s`);
  try {
    const own = check.ended.then((verdict) => {
      signal.throwIfAborted();
      link.tell({ name, verdict });
      return verdict;
    });
    const theirs = link.expect(limit + SLACK).then((note) => {
      const verdict = verdictIn(note, name);
      const why = `the other side: ${verdict.detail}`;
      if (!verdict.passed) check.endWithin(verdict.offered ? AFTERWARDS : 0, why);
      return verdict;
    });
    const [mine, other] = await Promise.all([own, theirs]);
    return role === 'server' ? outcomeOf(name, mine, other) : outcomeOf(name, other, mine);
  } catch (error) {
    check.endWithin(0, (error as Error).message);
    await check.ended;
    throw error;
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}

function verdictIn(note: unknown, name: string): SideVerdict {
  const told = note as { name?: string; verdict: SideVerdict };
  if (told.name !== name) throw new Error(`the other side is at ${told.name}, this one at ${name}`);
  return told.verdict;
}

/** What went wrong first is the reason of the rest. */
function outcomeOf(name: string, server: SideVerdict, client: SideVerdict): Outcome {
  const sides = { server, client };
  const troubles = Object.entries(sides)
    .filter(([, { passed }]) => !passed)
    .sort(([, a], [, b]) => a.seconds - b.seconds);
  const [first] = troubles;
  if (first === undefined) {
    const { proves = 'server' } = CHECKS.find(({ command }) => command === name) ?? {};
    return { name, outcome: 'passed', detail: sides[proves].detail, ...sides };
  }
  const [side, { offered, detail }] = first;
  if (!offered) return { name, outcome: 'skipped', detail, ...sides };
  return { name, outcome: 'failed', detail: `${side}: ${detail}`, ...sides };
}
