#!/usr/bin/env node
// npx libfabric <command>
import { Command } from 'commander';
import { softefaCommand } from './softefa.js';

const program = new Command('libfabric')
  .description('RDMA-class networking: what this machine has, and a software EFA device')
  .enablePositionalOptions()
  .addCommand(softefaCommand());

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
