// One side of a transfer, from its TCP connection to the end of its output.
import { connectCommand } from '../fabtests/common/connect-command.js';
import { DEFAULT_OOB_PORT } from '../fabtests/common/options.js';
import type { Control } from '../fabtests/common/test-command.js';
import { USAGE } from '../fabtests/common/usage-command.js';
import type { Written } from '../fabtests/common/written-arguments.js';
import { measureAll } from './client.js';
import type { Rails } from './engine.js';
import { Disagreement } from './messages.js';
import type { Flags } from './options.js';
import { Output } from './output.js';
import type { Plan } from './plan.js';
import { serve } from './server.js';

export { chooseRails, UnknownNic } from './engine.js';

/** The command line of the user. */
export interface Given {
  readonly flags: Flags;
  readonly plan: Plan;
  readonly rails: Rails;
  readonly written: Written;
}

/** Runs the client if there is a host, otherwise the server. */
export async function runSide(
  host: string | undefined,
  { flags, plan, rails, written }: Given,
  control: Control,
): Promise<void> {
  const link = await connectCommand(whereOf(host, flags, written), control.signal);
  control.target = { interrupt: () => link.close('interrupted') };
  const address = flags.source ?? (typeof rails.nics === 'object' ? undefined : link.localAddress);
  const output = new Output(flags, written.argv, host === undefined ? 'server' : 'client');
  const run = { rails: { ...rails, address }, link, seconds: flags.timeout, listener: output };
  try {
    await (host === undefined ? serve(run) : measureAll(run, plan));
  } catch (error) {
    const reason = (error as Error).message;
    link.close(reason);
    link.unref(); // the peer may never close its end
    if (error instanceof Disagreement) process.exitCode = USAGE;
    await output.end(reason);
    throw error;
  }
  link.close();
  await output.end();
}

function whereOf(
  host: string | undefined,
  { provider, source, exchange = DEFAULT_OOB_PORT, timeout }: Flags,
  written: Written,
) {
  return {
    command: 'transfer',
    ...written,
    oobExchange: true as const,
    oobPort: exchange,
    timeout,
    ...(host !== undefined && { host }),
    ...(provider !== undefined && { provider }),
    ...(source !== undefined && { sourceAddress: source }),
  };
}
