import { interruptibly } from '../fabtests/common/test-command.js';
import { UsageCommand } from '../fabtests/common/usage-command.js';
import { writtenArguments } from '../fabtests/common/written-arguments.js';
import { addHelpEnd, examplesOfSides } from '../shared/help.js';
import { type Flags, optionGroups } from './options.js';
import { type Plan, problemOf } from './plan.js';

/** libfabric transfer: bandwidth of the transfer engine between two sides. */
export function transferCommand(): UsageCommand {
  const command = new UsageCommand('transfer')
    .summary('bandwidth of libfabric/transfer, over all NICs')
    .description(
      'Measures the transfer engine of libfabric/transfer: the client writes to the memory of the ' +
        'server, or reads from it, over all NICs at once. The exit code is 0 if all bytes were ' +
        'transferred, 1 if not, and 2 for wrong usage.',
    )
    .argument('[server]', 'the server to connect to; without it this side is the server');
  for (const [heading, options] of optionGroups()) {
    for (const option of options) command.addOption(option.helpGroup(heading));
  }
  addHelpEnd(command, {
    notes: [
      'The client tells the server what to measure and how: the server needs only -p, --nics, -s and -E. ' +
        'The sides connect over TCP, at the port of -E (default: 3000).',
      'The time is that of the transfers; it includes neither the offers nor the checks of -v. ' +
        'p50 and p99 are the medians over the transfers.',
    ],
    examples: [
      ...examplesOfSides('transfer'),
      'npx libfabric transfer -p efa -S l:1M,64M,1G --stats HOST',
      'npx libfabric transfer -p efa --pages 64K -v --report transfer.html HOST',
    ],
  });
  return command.action(async (host: string | undefined, flags: Flags, self: UsageCommand) => {
    const plan = planOf(flags);
    const problem = problemOf(plan);
    if (problem !== undefined) self.error(`error: ${problem}`);
    // Imported here, because the engine would slow down every other command.
    const { chooseRails, runSide, UnknownNic } = await import('./side.js');
    try {
      const given = { flags, plan, rails: chooseRails(flags), written: writtenArguments(self) };
      await interruptibly((control) => runSide(host, given, control));
    } catch (error) {
      if (error instanceof UnknownNic) self.error(`error: ${error.message}`);
      throw error;
    }
  }) as UsageCommand;
}

function planOf({ size, pages, read, iterations, warmUp, verify, ...flags }: Flags): Plan {
  const { slice, window, stall, threads, map } = flags;
  return {
    operation: read ? 'read' : 'write',
    sizes: size,
    ...(pages !== undefined && { pages }),
    ...(iterations !== undefined && { iterations }),
    warmUp,
    verify: verify === true,
    ...(slice !== undefined && { slice }),
    ...(window !== undefined && { window }),
    ...(stall !== undefined && { stall }),
    ...(threads !== undefined && { threads }),
    ...(map !== undefined && { map }),
  };
}
