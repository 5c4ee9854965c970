// A command that many ranks run, from its options to the end of its process.
import { type ChildProcess, spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { Command } from 'commander';
import { Progress } from '../../shared/progress.js';
import { isQuiet } from '../../shared/quiet.js';
import type { Figures, ShowProgress } from './figures.js';
import { Group, GroupOver } from './group.js';
import { Hub } from './hub.js';
import { type Membership, membershipOf, type Root } from './launcher.js';
import { Mesh } from './mesh.js';
import { addOptions, chooseSettings, type Flags } from './options.js';
import { resultOf, writeResult } from './output.js';
import { planOf, type Settings } from './settings.js';
import { startWatchdog } from './watchdog.js';

/** The specification of a command of many ranks. */
export interface RanksSpec {
  readonly name: Settings['command'];
  readonly summary: string;
  readonly description: string;
  readonly examples: readonly string[];
  /** Measures at every rank. Returns the figures at rank 0. */
  readonly measure: (mesh: Mesh, show: ShowProgress) => Promise<Figures | undefined>;
}

const INTERRUPTED = 130; // the shell's convention: 128 plus SIGINT's number

// A transfer may fail because its rank has died. This is the time in ms to wait for the hub to report
// that reason.
const REASON_TIMEOUT = 500;

export function ranksCommand(spec: RanksSpec): Command {
  const command = new Command(spec.name)
    .summary(spec.summary)
    .description(
      `${spec.description} ` +
        'One process is one rank. Open MPI, MPICH, Slurm, torchrun and indexed jobs ' +
        'of Kubernetes set the rank. Otherwise give --rank, --ranks and --root, or --local ' +
        'for a first try.',
    );
  addOptions(command, spec.name);
  command.addHelpText(
    'after',
    `\nExamples:\n${spec.examples.map((line) => `  ${line}`).join('\n')}`,
  );
  return command.action(async (flags: Flags) => {
    const settings = chooseSettings(spec.name, flags, process.argv.slice(3));
    const run = new Run(spec, settings, flags);
    await run.toItsEnd();
  });
}

/** One rank's run. */
class Run {
  readonly #spec: RanksSpec;
  readonly #settings: Settings;
  readonly #flags: Flags;
  readonly #abort = new AbortController();
  readonly #startedAt = new Date();
  #hub: Hub | undefined;
  #group: Group | undefined;
  #rank = 0;
  #progress: Progress | undefined;
  /** The other ranks, with --local. */
  #children: readonly ChildProcess[] = [];

  constructor(spec: RanksSpec, settings: Settings, flags: Flags) {
    this.#spec = spec;
    this.#settings = settings;
    this.#flags = flags;
  }

  get #name(): string {
    return `rank ${this.#rank} (${hostname()})`;
  }

  async toItsEnd(): Promise<void> {
    const interrupt = () => {
      this.#group?.fail('interrupted');
      this.#abort.abort();
    };
    process.once('SIGINT', interrupt); // the second Ctrl-C ends the process
    process.once('SIGTERM', interrupt);
    try {
      await this.#measure();
    } catch (error) {
      process.exit(await this.#fail(error));
    } finally {
      process.off('SIGINT', interrupt);
      process.off('SIGTERM', interrupt);
    }
  }

  async #measure(): Promise<void> {
    const group = await this.#join();
    this.#group = group;
    const watchdog = startWatchdog(this.#name);
    const mesh = await Mesh.open(group, this.#settings);
    const figures = await this.#spec.measure(mesh, this.#show);
    this.#progress?.end();
    if (figures !== undefined) {
      writeResult(resultOf(mesh, figures, this.#startedAt), this.#settings, this.#flags.json);
    }
    await mesh.close();
    watchdog.stop();
    await group.leave();
  }

  async #join(): Promise<Group> {
    const { timeout } = this.#settings;
    const plan = planOf(this.#settings);
    const membership = await this.#membership();
    this.#rank = membership.rank;
    return Group.join(membership, { plan, timeout, signal: this.#abort.signal });
  }

  /** This rank's membership. At rank 0 it opens the hub. */
  async #membership(): Promise<Membership> {
    const { local } = this.#flags;
    if (local !== undefined) {
      this.#hub = await this.#openHub({ host: '127.0.0.1', port: 0 }, local);
      this.#children = startOthers(local, process.argv.slice(1), this.#hub);
      return { rank: 0, ranks: local, root: this.#hub.root };
    }
    const membership = membershipOf(process.env, this.#flags);
    if (membership.ranks < 2) throw new Error('a single rank has no peer: start 2 or more');
    if (membership.rank > 0) return membership;
    this.#hub = await this.#openHub(membership.root, membership.ranks);
    this.#announce(this.#hub, membership.ranks - 1);
    return { ...membership, root: this.#hub.root };
  }

  // With this line, a log shows why rank 0 waits, and where it listens.
  #announce({ listensAt, root: { port } }: Hub, others: number): void {
    if (isQuiet()) return;
    const where = listensAt ?? `every address of ${hostname()}`;
    const whom = others === 1 ? 'the other rank' : `${others} other ranks`;
    this.#progress?.clear();
    say(`${this.#name}: listening on ${where}, TCP port ${port}, for ${whom}`);
  }

  /** Opens the hub, and shows how many ranks have connected. */
  #openHub(root: Root, ranks: number): Promise<Hub> {
    const progress = this.#show(new Array<number>(ranks).fill(0));
    const { timeout } = this.#settings;
    const joined = () => progress.next('ranks connected');
    return Hub.open(root, { ranks, plan: planOf(this.#settings), timeout, joined });
  }

  readonly #show = (weights: readonly number[]): Progress => {
    this.#progress?.end();
    this.#progress = new Progress(this.#rank === 0 ? weights : []);
    return this.#progress;
  };

  /** Reports a failure to the other ranks and the user. Returns the exit code. */
  async #fail(error: unknown): Promise<number> {
    const group = this.#group;
    const reason = error instanceof Error ? error.message : String(error);
    const over =
      error instanceof GroupOver
        ? error
        : await group?.explanation(this.#abort.signal.aborted ? 5000 : REASON_TIMEOUT);
    this.#progress?.end();
    if (over === undefined) {
      group?.fail(reason);
      this.#hub?.end(`${this.#name}: ${reason}`);
    }
    const interrupted = over?.interrupted ?? this.#abort.signal.aborted;
    const mine = over === undefined || this.#rank === 0 || !over.knownToRoot;
    if (mine && !interrupted) say(over?.message ?? `${this.#name}: ${reason}`);
    await group?.leave();
    for (const child of this.#children) child.kill();
    return interrupted ? INTERRUPTED : 1;
  }
}

// Synchronous, because the process is about to end.
function say(line: string): void {
  writeSync(2, `${line}\n`);
}

/** The arguments of the other ranks: those of this process without --local. */
export function withoutLocal(argv: readonly string[]): string[] {
  return argv.filter(
    (argument, i) =>
      argument !== '--local' && argv[i - 1] !== '--local' && !argument.startsWith('--local='),
  );
}

/** Starts ranks 1 and up. If one cannot be started or fails, all ranks end. */
export function startOthers(ranks: number, argv: readonly string[], hub: Hub): ChildProcess[] {
  const [script = '', ...args] = argv;
  const common = ['--ranks', String(ranks), '--root', `127.0.0.1:${hub.root.port}`];
  return Array.from({ length: ranks - 1 }, (_, i) => {
    const rank = i + 1;
    const own = [...withoutLocal(args), '--rank', String(rank), ...common];
    const child = spawn(process.execPath, [...process.execArgv, script, ...own], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    child.on('error', (error) => hub.end(`rank ${rank} cannot be started: ${error.message}`));
    child.on('exit', (code, signal) => {
      if (code !== 0) hub.end(`rank ${rank} has ended with ${signal ?? `code ${code}`}`);
    });
    return child;
  });
}
