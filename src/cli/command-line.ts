// npx libfabric <command>
import { Command } from 'commander';
import { acceptAbbreviations } from './shared/abbreviations.js';
import { fitsNarrowTerminals } from './shared/help.js';
import { packageVersion } from './shared/package-version.js';

/** Commands that are loaded together. */
interface CommandModule {
  readonly names: readonly string[];
  load(): Promise<readonly Command[]>;
}

interface CommandGroup {
  readonly heading?: string;
  readonly modules: readonly CommandModule[];
}

const one = (name: string, load: () => Promise<Command>): CommandModule => ({
  names: [name],
  load: async () => [await load()],
});

async function benchmarks(): Promise<Command[]> {
  const { BENCHMARKS } = await import('./fabtests/benchmarks/all.js');
  const { benchmarkCommand } = await import('./fabtests/benchmarks/shared/benchmark-command.js');
  return BENCHMARKS.map(benchmarkCommand);
}

async function functionalTests(): Promise<Command[]> {
  const { FUNCTIONAL_TESTS } = await import('./fabtests/functional/all.js');
  const { functionalTestCommand } = await import(
    './fabtests/functional/shared/functional-test-command.js'
  );
  return FUNCTIONAL_TESTS.map(functionalTestCommand);
}

/** All commands, in the order of the help. */
export const GROUPS: readonly CommandGroup[] = [
  {
    modules: [
      one('doctor', async () => (await import('./doctor/doctor.js')).doctorCommand()),
      one('info', async () => (await import('./info/info.js')).infoCommand()),
      one('devices', async () => (await import('./devices.js')).devicesCommand()),
      one('stats', async () => (await import('./stats/stats.js')).statsCommand()),
      one('strerror', async () => (await import('./strerror.js')).strerrorCommand()),
      one('softefa', async () => (await import('./softefa.js')).softefaCommand()),
      one('report', async () => (await import('./report/report.js')).reportCommand()),
      one('completion', async () =>
        (await import('./completion.js')).completionCommand(() => commandLine()),
      ),
    ],
  },
  {
    heading: 'Benchmarks between two sides:',
    modules: [
      {
        names: [
          'rma-bw',
          'rma-pingpong',
          'rma-tx-completion',
          'rdm-bw',
          'rdm-tagged-bw',
          'rdm-pingpong',
          'rdm-tagged-pingpong',
          'rdm-cntr-pingpong',
          'dgram-pingpong',
        ],
        load: benchmarks,
      },
      one('pingpong', async () => (await import('./pingpong/pingpong.js')).pingpongCommand()),
      one('transfer', async () => (await import('./transfer/transfer.js')).transferCommand()),
      one('net', async () => (await import('./net/net.js')).netCommand()),
    ],
  },
  {
    heading: 'Benchmarks between many ranks:',
    modules: [
      one('all-to-all', async () =>
        (await import('./fabtests/multinode/all-to-all.js')).allToAllCommand(),
      ),
      one('pairwise', async () =>
        (await import('./fabtests/multinode/pairwise.js')).pairwiseCommand(),
      ),
    ],
  },
  {
    heading: 'Functional checks between two sides:',
    modules: [
      one('check', async () =>
        (await import('./fabtests/functional/run-all/run-all.js')).runAllCommand(),
      ),
      {
        names: [
          'rdm',
          'dgram',
          'cq-data',
          'multi-recv',
          'rdm-atomic',
          'rdm-tagged-peek',
          'recv-cancel',
          'unexpected-msg',
          'av-xfer',
          'multi-ep',
          'rdm-multi-client',
          'inject',
        ],
        load: functionalTests,
      },
    ],
  },
];

const VERSION_FLAGS = ['-V', '--version'];

/**
 * The command line. If the first argument is the name of a command, it has only the commands of that
 * one's module, since loading all takes a tenth of a second. It has none if the argument asks for the version.
 */
export async function commandLine(first?: string): Promise<Command> {
  const program = fitsNarrowTerminals(new Command('libfabric'))
    .description(
      'RDMA-class networking: what this machine has, whether it works, and how fast it is',
    )
    .version(packageVersion(), VERSION_FLAGS.join(', '), 'print the version of this package')
    .enablePositionalOptions();
  if (first !== undefined && VERSION_FLAGS.includes(first)) return program;
  const has = ({ names }: CommandModule) => first !== undefined && names.includes(first);
  const isKnown = GROUPS.some(({ modules }) => modules.some(has));
  for (const { heading, modules } of GROUPS) {
    if (heading !== undefined) program.commandsGroup(heading);
    for (const each of modules) {
      if (isKnown && !has(each)) continue;
      for (const command of await each.load()) {
        fitsNarrowTerminals(command);
        const runsAnother = each.names.includes('softefa'); // whose options are not of this one
        program.addCommand(runsAnother ? command : acceptAbbreviations(command));
      }
    }
  }
  return program;
}
