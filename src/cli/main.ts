#!/usr/bin/env node
// npx libfabric <command>
import { Command } from 'commander';
import { infoCommand } from './info.js';
import { softefaCommand } from './softefa.js';
import { strerrorCommand } from './strerror.js';

const program = new Command('libfabric')
  .description('RDMA-class networking: what this machine has, and a software EFA device')
  .enablePositionalOptions()
  .addCommand(infoCommand())
  .addCommand(strerrorCommand())
  .addCommand(softefaCommand());

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
