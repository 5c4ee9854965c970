import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { Command, InvalidArgumentError } from 'commander';
import {
  removeSoftefa,
  type SoftefaCapability,
  type SoftefaOptions,
  softefaEnvironment,
} from '../softefa/index.js';

interface Flags {
  readonly nics?: number;
  readonly node?: number;
  readonly namespace?: string;
  readonly async?: true;
  readonly direct?: true;
  readonly rate?: number;
  readonly seed?: number;
  readonly caps?: readonly SoftefaCapability[];
  readonly env?: true;
  readonly remove?: true;
}

const integer = (text: string): number => {
  if (!/^(\d+|0x[\da-f]+)$/i.test(text)) throw new InvalidArgumentError('It is not a number.');
  return Number(text);
};
const list = (text: string) => (text === 'none' ? [] : text.split(','));

/** libfabric softefa: runs a command with software EFA devices. */
export function softefaCommand(): Command {
  return new Command('softefa')
    .summary('run a command with software EFA devices')
    .description(
      'Runs a command with software EFA devices, so that the efa provider works on any Linux machine. ' +
        'They carry data between processes of this machine; their speed is not that of EFA.',
    )
    .argument('[command...]', 'the command and its arguments')
    .option('--nics <n>', 'devices (default: 1)', integer)
    .option(
      '--node <n>',
      'simulated host of the command; other nodes are remote (default: 0)',
      integer,
    )
    .option(
      '--namespace <name>',
      'processes communicate only within a namespace (default: "default")',
    )
    .option('--async', 'move data after the post has returned, in random order: finds early reuse')
    .option('--direct', 'queues that the efa provider of libfabric >= 2.3 accesses directly')
    .option(
      '--rate <n>',
      'bytes per second of each device and direction (default: no limit)',
      integer,
    )
    .option('--seed <n>', 'seed of every random choice (default: 1)', integer)
    .option(
      '--caps <list>',
      'capabilities, separated by commas, or none (default: RDMA_READ, RDMA_WRITE, RNR_RETRY, ' +
        'CQ_WITH_SGID, UNSOLICITED_WRITE_RECV)',
      list,
    )
    .option('--env', 'print the environment for a shell instead')
    .option('--remove', 'remove the devices of the namespace and their counters instead')
    .addHelpText(
      'after',
      `
Examples:
  npx libfabric softefa -- fi_info -p efa
  npx libfabric softefa --nics 4 --node 2 -- node app.js
  npx libfabric softefa --remove
  eval "$(npx libfabric softefa --env)"`,
    )
    .passThroughOptions()
    .action(async (command: string[], flags: Flags, self: Command) => {
      if (flags.remove) return removeSoftefa(optionsOf(flags));
      const environment = softefaEnvironment(optionsOf(flags));
      if (flags.env) printEnvironment(environment);
      else if (command.length === 0) self.help({ error: true });
      else await runWith(environment, command);
    });
}

function optionsOf({ async, caps, env: _, remove: __, ...options }: Flags): SoftefaOptions {
  return {
    ...options,
    ...(async && { asynchronous: true }),
    ...(caps !== undefined && { capabilities: caps }),
  };
}

function printEnvironment(environment: Record<string, string>): void {
  for (const [name, value] of Object.entries(environment)) {
    console.log(`export ${name}='${value.replaceAll("'", "'\\''")}'`);
  }
}

/** Signals that end a process or that it may wait for. */
const FORWARDED = [
  'SIGINT',
  'SIGQUIT',
  'SIGTERM',
  'SIGHUP',
  'SIGALRM',
  'SIGUSR1',
  'SIGUSR2',
] as const;
/** Those that a terminal sends to all processes in the foreground, for Ctrl-C and Ctrl-\\. */
const OF_TERMINALS: ReadonlySet<string> = new Set(['SIGINT', 'SIGQUIT']);

// As in a shell: sh(1).
const [NOT_FOUND, NOT_EXECUTABLE, SIGNALED] = [127, 126, 128];

/** Runs a command and exits as it did: with its exit code, or 128 plus its signal's number. */
async function runWith(environment: Record<string, string>, command: string[]): Promise<void> {
  try {
    process.exitCode = await codeOf(command, { ...process.env, ...environment });
  } catch (error) {
    const { code, errno } = error as NodeJS.ErrnoException;
    if (errno === undefined) throw error; // not of the system
    const missing = code === 'ENOENT';
    process.exitCode = missing ? NOT_FOUND : NOT_EXECUTABLE;
    throw new Error(
      `${command[0]}: ${missing ? 'command not found' : `cannot be executed (${code})`}`,
    );
  }
}

function codeOf([program = '', ...args]: readonly string[], env: NodeJS.ProcessEnv) {
  return new Promise<number>((resolve, reject) => {
    // Before the command starts: a signal would otherwise end this process and leave the command.
    for (const signal of FORWARDED) {
      process.on(signal, () => {
        if (!OF_TERMINALS.has(signal) || !isInForeground()) child.kill(signal);
      });
    }
    const child = spawn(program, args, { stdio: 'inherit', env });
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      resolve(signal === null ? (code ?? 1) : SIGNALED + constants.signals[signal]),
    );
  });
}

/**
 * Whether a terminal sends its signals to this process group, which includes the command: proc(5),
 * /proc/pid/stat.
 */
function isInForeground(): boolean {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return group === foreground;
}
