// Runs the commands that its parent sends, one after another: test/support/host.ts.
import { runCommand } from '../support/run-command.mjs';

process.on('message', async (args) => {
  process.send(await runCommand(args));
});
process.on('disconnect', () => process.exit());
