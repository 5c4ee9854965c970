// npx libfabric <command>
import { Command } from 'commander';
import { devicesCommand } from './devices.js';
import { doctorCommand } from './doctor/doctor.js';
import { BENCHMARKS } from './fabtests/benchmarks/all.js';
import { benchmarkCommand } from './fabtests/benchmarks/shared/benchmark-command.js';
import { FUNCTIONAL_TESTS } from './fabtests/functional/all.js';
import { runAllCommand } from './fabtests/functional/run-all/run-all.js';
import { functionalTestCommand } from './fabtests/functional/shared/functional-test-command.js';
import { allToAllCommand } from './fabtests/multinode/all-to-all.js';
import { pairwiseCommand } from './fabtests/multinode/pairwise.js';
import { infoCommand } from './info/info.js';
import { pingpongCommand } from './pingpong/pingpong.js';
import { reportCommand } from './report/report.js';
import { packageVersion } from './shared/package-version.js';
import { softefaCommand } from './softefa.js';
import { statsCommand } from './stats/stats.js';
import { strerrorCommand } from './strerror.js';
import { transferCommand } from './transfer/transfer.js';

/** The command line, with all of its commands. */
export function commandLine(): Command {
  const program = new Command('libfabric')
    .description(
      'RDMA-class networking: what this machine has, whether it works, and how fast it is',
    )
    .version(packageVersion(), '-V, --version', 'print the version of this package')
    .enablePositionalOptions()
    .addCommand(doctorCommand())
    .addCommand(infoCommand())
    .addCommand(devicesCommand())
    .addCommand(statsCommand())
    .addCommand(strerrorCommand())
    .addCommand(softefaCommand())
    .addCommand(reportCommand());

  program.commandsGroup('Benchmarks between two sides:');
  for (const benchmark of BENCHMARKS) program.addCommand(benchmarkCommand(benchmark));
  program.addCommand(pingpongCommand()).addCommand(transferCommand());
  program.commandsGroup('Benchmarks between many ranks:');
  program.addCommand(allToAllCommand()).addCommand(pairwiseCommand());

  program.commandsGroup('Functional checks between two sides:');
  program.addCommand(runAllCommand());
  for (const check of FUNCTIONAL_TESTS) program.addCommand(functionalTestCommand(check));
  return program;
}
