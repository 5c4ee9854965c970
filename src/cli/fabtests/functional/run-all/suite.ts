import type { PeerLink } from '../../common/peer-link.js';
import { FUNCTIONAL_TESTS } from '../all.js';
import type { Outcome, SideVerdict } from '../shared/verdict.js';
import { TestProcess } from './test-process.js';

/** How the tests run. */
export interface Suite {
  readonly names: readonly string[];
  readonly role: 'client' | 'server';
  /** Arguments of a test's command, its name first. */
  readonly argumentsOf: (name: string) => readonly string[];
  /** Seconds that a test may take. */
  readonly limit: number;
  /** Called when a test starts. */
  readonly starts: (name: string) => void;
}

// Seconds that a side has left to report a verdict after its peer has failed.
const VERDICT_TIMEOUT = 3;
// Additional seconds to wait for the peer's verdict after the test's time limit.
const SLACK = 10;

/**
 * Runs the tests one after another. Each starts when both sides have finished the previous one,
 * whatever its outcome. Throws PeerGone if the peer has exited.
 */
export async function* runSuite(
  suite: Suite,
  link: PeerLink,
  signal: AbortSignal,
): AsyncGenerator<Outcome, void> {
  for (const name of suite.names) {
    suite.starts(name);
    yield await runOne(name, suite, link, signal);
  }
}

async function runOne(
  name: string,
  { role, argumentsOf, limit }: Suite,
  link: PeerLink,
  signal: AbortSignal,
): Promise<Outcome> {
  signal.throwIfAborted();
  const test = new TestProcess(argumentsOf(name));
  const interrupt = () => test.endWithin(0, { detail: 'interrupted' });
  signal.addEventListener('abort', interrupt);
  test.endWithin(limit, { detail: `it had not ended after ${limit} s` });
  try {
    const own = test.ended.then((verdict) => {
      signal.throwIfAborted();
      link.send({ name, verdict });
      return verdict;
    });
    const theirs = link.expect(limit + SLACK).then((note) => {
      const verdict = verdictIn(note, name);
      const { passed, offered, detail } = verdict;
      const why = { offered, detail: `the peer: ${detail}` };
      if (!passed) test.endWithin(offered ? VERDICT_TIMEOUT : 0, why);
      return verdict;
    });
    const [mine, other] = await Promise.all([own, theirs]);
    return role === 'server' ? outcomeOf(name, mine, other) : outcomeOf(name, other, mine);
  } catch (error) {
    test.endWithin(0, { detail: (error as Error).message });
    await test.ended;
    throw error;
  } finally {
    signal.removeEventListener('abort', interrupt);
  }
}

function verdictIn(note: unknown, name: string): SideVerdict {
  const reported = note as { name?: string; verdict: SideVerdict };
  if (reported.name !== name)
    throw new Error(`the peer runs ${reported.name}, this side runs ${name}`);
  return reported.verdict;
}

/**
 * The outcome of both sides. If both failed, the first failure is reported, because it caused the
 * other. A side that could not run the test at all is not a failure.
 */
function outcomeOf(name: string, server: SideVerdict, client: SideVerdict): Outcome {
  const sides = { server, client };
  const troubles = Object.entries(sides)
    .filter(([, { passed }]) => !passed)
    .sort(([, a], [, b]) => a.seconds - b.seconds);
  const [first] = troubles;
  if (first === undefined) {
    const { proves = 'server' } = FUNCTIONAL_TESTS.find(({ command }) => command === name) ?? {};
    return { name, outcome: 'passed', detail: sides[proves].detail, ...sides };
  }
  const absent = troubles.find(([, { offered }]) => !offered);
  if (absent !== undefined) return { name, outcome: 'skipped', detail: absent[1].detail, ...sides };
  const [side, { detail }] = first;
  return { name, outcome: 'failed', detail: `${side}: ${detail}`, ...sides };
}
