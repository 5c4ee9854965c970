#!/usr/bin/env node
// npx libfabric <command>
import { Command } from 'commander';
import { infoCommand } from './info.js';
import { reportCommand } from './report.js';
import { softefaCommand } from './softefa.js';
import { strerrorCommand } from './strerror.js';

const program = new Command('libfabric')
  .description(
    'RDMA-class networking: what this machine has, a software EFA device, pages of measurements',
  )
  .enablePositionalOptions()
  .addCommand(infoCommand())
  .addCommand(strerrorCommand())
  .addCommand(softefaCommand())
  .addCommand(reportCommand());

// As with any command, a reader such as head(1) may have had enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
