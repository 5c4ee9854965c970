import { InvalidArgumentError, Option } from 'commander';
import { addHelpEnd, examplesOfSides } from '../../../shared/help.js';
import { Progress } from '../../../shared/progress.js';
import { connectCommand } from '../../common/connect-command.js';
import {
  ADDRESSES,
  FABRIC,
  type Flags,
  OOB,
  OUTPUT,
  type TestCommand,
} from '../../common/options.js';
import { type Control, interruptibly } from '../../common/test-command.js';
import { USAGE, UsageCommand } from '../../common/usage-command.js';
import { type Written, writtenArguments } from '../../common/written-arguments.js';
import type { CheckResult, Outcome } from '../shared/verdict.js';
import { agreeOn, Disagreement } from './agreement.js';
import { argumentsOf, NAMES } from './arguments.js';
import { runSuite, type Suite } from './suite.js';

type Given = Partial<Flags> & {
  readonly only?: readonly string[];
  readonly skip?: readonly string[];
};

const TIMEOUT = 10;
const OOB_PORT = 3000;
// A test may take this many timeouts.
const TIMEOUTS_PER_TEST = 6;

/** libfabric check: all functional tests between two sides of this package. */
export function runAllCommand(): TestCommand {
  const command = new UsageCommand('check')
    .summary('all of them, one after another')
    .description(
      'Runs all functional checks, one after another, between two sides of this package. Each check runs in ' +
        'its own process. The exit code is 0 if none failed, 1 if one failed, and 2 for wrong usage.',
    )
    .argument('[server]', 'the server to connect to; without it this side is the server')
    .addOption(
      choice('--only <checks>', 'only these checks, separated by commas').helpGroup(
        'What to check:',
      ),
    )
    .addOption(choice('--skip <checks>', 'all checks except these').helpGroup('What to check:'));
  for (const [heading, options] of [ADDRESSES, OOB, FABRIC, OUTPUT]) {
    const offered = options.filter((option) => OFFERED.has(option.attributeName()));
    for (const option of offered) command.addOption(option.helpGroup(heading));
  }
  addHelpEnd(command, {
    notes: [
      `The checks: ${NAMES.join(', ')}`,
      'The sides coordinate the checks over TCP, at the port of -b or -E (default: 3000). The checks ' +
        `also exchange their addresses there. A check may take ${TIMEOUTS_PER_TEST} times --timeout.`,
    ],
    examples: examplesOfSides('check'),
  });
  return command.action(async (host: string | undefined, given: Given) => {
    const written = writtenArguments(command);
    await interruptibly((control) => runSide(host, given, written, control));
  }) as TestCommand;
}

const OFFERED = new Set([
  ...['provider', 'fabric', 'domain', 'source', 'sourcePort', 'port', 'format'],
  ...['oob', 'exchange', 'oobAddress'],
  ...['threading', 'dataProgress', 'controlProgress'],
  ...['json', 'timeout', 'pinCore'],
]);

const choice = (flags: string, description: string) =>
  new Option(flags, description).argParser((text) => {
    const names = text.split(',');
    const unknown = names.find((name) => !NAMES.includes(name));
    if (unknown === undefined) return names;
    throw new InvalidArgumentError(`There is no check ${unknown}; there are ${NAMES.join(', ')}.`);
  });

async function runSide(
  host: string | undefined,
  given: Given,
  written: Written,
  control: Control,
): Promise<void> {
  const { only = NAMES, skip = [], timeout = TIMEOUT } = given;
  const { oob, exchange, oobAddress, source, provider } = given;
  const where = {
    ...{ command: 'check', ...written, oobExchange: true as const },
    ...(provider !== undefined && { provider }),
    oobPort: oob ?? exchange ?? OOB_PORT,
    timeout,
    ...(host !== undefined && { host }),
    ...(oobAddress !== undefined && { oobAddress }),
    ...(source !== undefined && { sourceAddress: source }),
  };
  const link = await connectCommand(where, control.signal);
  control.target = { interrupt: () => link.close('interrupted') };
  try {
    const names = NAMES.filter((name) => only.includes(name) && !skip.includes(name));
    const agreed = await agreeOn({ names, common: commonOf(given) }, link, timeout);
    const progress = new Progress(agreed.map(() => 1));
    const suite: Suite = {
      names: agreed,
      role: host === undefined ? 'server' : 'client',
      argumentsOf: (name) => argumentsOf(name, given, where.oobPort, host),
      limit: timeout * TIMEOUTS_PER_TEST,
      starts: (name) => progress.next(name),
    };
    const outcomes: Outcome[] = [];
    try {
      for await (const outcome of runSuite(suite, link, control.signal)) {
        outcomes.push(outcome);
        progress.clear();
        if (!given.json) console.log(lineOf(outcome));
      }
    } finally {
      progress.end();
    }
    console.log(given.json ? JSON.stringify(totalsOf(outcomes), null, 2) : summaryOf(outcomes));
    if (outcomes.some(({ outcome }) => outcome === 'failed')) process.exitCode = 1;
    link.close();
  } catch (error) {
    link.close((error as Error).message);
    link.unref(); // the peer may never close its end
    if (error instanceof Disagreement) process.exitCode = USAGE;
    throw error;
  }
}

const commonOf = ({ provider, fabric, oob }: Given): string =>
  [provider && `-p ${provider}`, fabric && `-f ${fabric}`, oob === undefined ? '-E' : '-b']
    .filter(Boolean)
    .join(' ');

const WIDTH = Math.max(...NAMES.map(({ length }) => length)) + 2;

/** The output line of a test. */
export const lineOf = ({ name, outcome, detail }: Outcome) =>
  name.padEnd(WIDTH) + outcome.padEnd(9) + detail.replaceAll('\n', ' ');

/** All outcomes, as --json writes them. */
export function totalsOf(checks: readonly Outcome[]): CheckResult {
  const count = (which: Outcome['outcome']) =>
    checks.filter(({ outcome }) => outcome === which).length;
  const verdicts = checks.flatMap(({ server, client }) => [server, client]);
  const { provider = null } = verdicts.find((verdict) => verdict.provider) ?? {};
  return {
    provider,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    checks,
  };
}

/** The last line of the output. */
export function summaryOf(outcomes: readonly Outcome[]): string {
  const { provider, passed, failed, skipped } = totalsOf(outcomes);
  const over = provider === null ? '' : ` over ${provider}`;
  return `${outcomes.length} checks${over}: ${passed} passed, ${failed} failed, ${skipped} skipped`;
}
