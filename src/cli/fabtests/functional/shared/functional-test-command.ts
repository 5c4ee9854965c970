import { errnoByCode } from '../../../../base/error-codes.js';
import { FabricError } from '../../../../base/errors.js';
import { addHelpEnd, examplesOfSides } from '../../../shared/help.js';
import { chooseSettings, Refusal } from '../../common/choose-settings.js';
import { type Flags, TestCommand } from '../../common/options.js';
import { resolveHost } from '../../common/resolve-host.js';
import { interruptibly, pinToCores } from '../../common/test-command.js';
import { Interrupted } from '../../common/waiter.js';
import { writtenArguments } from '../../common/written-arguments.js';
import { NotOffered, TestFailure } from './failure.js';
import type { FunctionalTest } from './functional-test.js';
import { addFunctionalOptions, flagsOf } from './options.js';
import { TestSide } from './test-side.js';
import type { Verdict } from './verdict.js';

/** The command of a test. */
export function functionalTestCommand(test: FunctionalTest): TestCommand {
  const command = new TestCommand(test.command)
    .summary(test.summary)
    .description(
      `${test.description} It is compatible with fabtests: either side may be theirs. The exit code is 0, or the error's number.`,
    )
    .argument('[server]', 'the server to connect to; without it this side is the server');
  addFunctionalOptions(command, test);
  addHelpEnd(command, { examples: examplesOfSides(test.command) });
  return command.action(async (host: string | undefined, given: Partial<Flags>) => {
    const written = writtenArguments(command);
    const settings = await resolveHost(
      orRefuse(command, () =>
        chooseSettings(kindFor(test, given), flagsOf(test, given), host, written),
      ),
    );
    if (settings.pinCore !== undefined) pinToCores(settings.pinCore);
    await interruptibly(async (control) => {
      const write = (line: string) => console.log(line);
      const complain = (line: string) => console.error(line);
      const side = new TestSide(test, settings, given, control, write, complain);
      const verdict = await judge(test, side);
      if (settings.output === 'json') console.log(JSON.stringify(verdict, null, 2));
      else if (verdict.passed) {
        const { detail, memory } = verdict;
        console.log(`${test.command}: passed: ${detail}${memory ? ` (${memory})` : ''}.`);
      }
      if (verdict.passed) return;
      const word = verdict.offered ? 'failed' : 'not offered';
      console.error(`${test.command}: ${word}: ${verdict.detail}`);
      process.exitCode = verdict.errno;
    });
  }) as TestCommand;
}

// -e may choose any endpoint type that the test supports.
function kindFor(test: FunctionalTest, { type }: Partial<Flags>): FunctionalTest {
  const { types = [test.type] } = test;
  const chosen = types.find((each) => each === `FI_EP_${type?.toUpperCase()}`);
  if (chosen !== undefined) return { ...test, type: chosen };
  if (type === undefined || type.toLowerCase() === 'msg') return test;
  const names = types.map((each) => each.slice('FI_EP_'.length).toLowerCase());
  throw new Refusal(`error: -e must be ${names.join(' or ')} with ${test.command}, not ${type}`);
}

function orRefuse<T>(command: TestCommand, choose: () => T): T {
  try {
    return choose();
  } catch (error) {
    if (error instanceof Refusal) command.error(error.message);
    throw error;
  }
}

/** Runs one side of a test to its end. Throws on Ctrl-C only. */
export async function judge(test: FunctionalTest, side: TestSide): Promise<Verdict> {
  try {
    const proved = await test.run(side);
    await side.close();
    return verdictOf(test, side, { passed: true, offered: true, detail: proved, errno: 0 });
  } catch (error) {
    const cause = await side.causeOf(error);
    await side.close((cause as Error).message).catch(() => {});
    if (cause instanceof Interrupted || side.interrupted) throw cause;
    return verdictOf(test, side, failureOf(cause));
  }
}

function verdictOf(
  test: FunctionalTest,
  { role, entry, memory }: TestSide,
  outcome: Pick<Verdict, 'passed' | 'offered' | 'detail' | 'errno'>,
): Verdict {
  return {
    name: test.command,
    role,
    ...outcome,
    ...(entry && {
      provider: entry.fabricAttr.provName,
      domain: entry.domainAttr.name,
      endpointType: entry.epAttr.type,
    }),
    ...(memory !== undefined && { memory }),
  };
}

function failureOf(error: unknown) {
  const detail = error instanceof Error ? error.message : String(error);
  const { errno = 1 } = error as { errno?: number };
  const absent =
    FabricError.is(error) && error.syscall === 'fi_getinfo' && errno === errnoByCode.FI_ENODATA;
  return {
    passed: false,
    offered: !absent && !(error instanceof NotOffered),
    detail,
    errno: errno > 0 && errno < 256 ? errno : 1,
    ...(error instanceof TestFailure && {
      expected: error.expected,
      found: error.found,
      lookAt: error.lookAt,
    }),
  };
}
