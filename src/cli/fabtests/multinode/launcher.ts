// Which rank this process is and where rank 0 is, from the command line or from the launcher.
import { MAX_PORT } from '../../../base/checks.js';
import { expandNodelist } from './nodelist.js';

/** Where rank 0 listens for the others. */
export interface Root {
  readonly host: string;
  readonly port: number;
}

/** A process among those that were started together. */
export interface Membership {
  readonly rank: number;
  /** Ranks in all. */
  readonly ranks: number;
  readonly root: Root;
}

/** The parts of a membership that the command line gives. */
export interface GivenMembership {
  readonly rank?: number;
  readonly ranks?: number;
  /** `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`. */
  readonly root?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

interface Launcher {
  readonly name: string;
  readonly rank: string;
  /** Undefined if the launcher sets no variable for it. */
  readonly ranks?: string;
  /** Ranks on this host. */
  readonly localRanks?: string;
  /** Variables that distinguish jobs on one host. */
  readonly job?: readonly string[];
}

// Launchers whose variables are also set under others come last: a Slurm batch script has
// SLURM_PROCID and may start mpirun or torchrun.
const LAUNCHERS: readonly Launcher[] = [
  {
    name: 'Open MPI',
    rank: 'OMPI_COMM_WORLD_RANK',
    ranks: 'OMPI_COMM_WORLD_SIZE',
    localRanks: 'OMPI_COMM_WORLD_LOCAL_SIZE',
    job: ['PMIX_NAMESPACE', 'OMPI_MCA_ess_base_jobid'],
  },
  { name: 'MPICH', rank: 'PMI_RANK', ranks: 'PMI_SIZE', localRanks: 'MPI_LOCALNRANKS' },
  { name: 'torchrun', rank: 'RANK', ranks: 'WORLD_SIZE', localRanks: 'LOCAL_WORLD_SIZE' },
  { name: 'Slurm', rank: 'SLURM_PROCID', ranks: 'SLURM_NTASKS', job: ['SLURM_JOB_ID'] },
  { name: 'Kubernetes', rank: 'JOB_COMPLETION_INDEX' },
];

/** The port of `--root HOST`. */
export const DEFAULT_PORT = 29_228;

/** This process's rank, and where rank 0 is. Throws an Error that names the missing option. */
export function membershipOf(environment: Environment, given: GivenMembership): Membership {
  const launcher = LAUNCHERS.find(({ rank }) => environment[rank] !== undefined);
  const fromLauncher = (name: string | undefined) =>
    name === undefined ? undefined : numberIn(environment, name);
  const rank = given.rank ?? fromLauncher(launcher?.rank);
  const ranks = given.ranks ?? fromLauncher(launcher?.ranks);
  if (rank === undefined) {
    throw new Error(
      'no launcher has started this process (Open MPI, MPICH, Slurm, torchrun, Kubernetes): set ' +
        '--rank R --ranks N --root HOST, or --local N for processes of this machine',
    );
  }
  if (ranks === undefined) {
    throw new Error(`--ranks is missing: ${launcher?.name ?? '--rank'} does not set the number`);
  }
  if (rank >= ranks) throw new Error(`rank ${rank} is not one of ${ranks} ranks, which start at 0`);
  return { rank, ranks, root: rootOf(environment, given, launcher, ranks) };
}

function rootOf(
  environment: Environment,
  given: GivenMembership,
  launcher: Launcher | undefined,
  ranks: number,
): Root {
  if (given.root !== undefined) return parseRoot(given.root);
  const { MASTER_ADDR, MASTER_PORT } = environment;
  if (MASTER_ADDR) return { host: MASTER_ADDR, port: masterPort(environment, MASTER_PORT) };
  const port = jobPort(launcher?.job?.map((name) => environment[name]).find(Boolean));
  const list = environment.SLURM_STEP_NODELIST ?? environment.SLURM_JOB_NODELIST;
  if (list) return { host: expandNodelist(list)[0] as string, port };
  const together = launcher?.localRanks && environment[launcher.localRanks] === String(ranks);
  if (together) return { host: '127.0.0.1', port };
  throw new Error(
    `--root is missing: ${launcher?.name ?? '--rank'} does not name the host of rank 0; set --root HOST, ` +
      'with the name of the host of rank 0, or set MASTER_ADDR',
  );
}

/** Reads `--root`. */
export function parseRoot(text: string): Root {
  const found =
    /^\[([^\]]+)\](?::(\d+))?$/.exec(text) ?? /^([^:]+)(?::(\d+))?$/.exec(text) ?? undefined;
  const port = Number(found?.[2] ?? DEFAULT_PORT);
  if (found === undefined || port < 1 || port > MAX_PORT) {
    throw new Error(`--root must be HOST, HOST:PORT or [ADDRESS]:PORT, not ${text}`);
  }
  return { host: found[1] as string, port };
}

// torchrun's own store may be listening at MASTER_PORT.
function masterPort(environment: Environment, text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  const port = numberIn(environment, 'MASTER_PORT');
  if (port < 1 || port > MAX_PORT) {
    throw new Error(`MASTER_PORT is ${text}, not a port from 1 to ${MAX_PORT}`);
  }
  const taken = environment.TORCHELASTIC_USE_AGENT_STORE === 'True';
  return taken ? (port % MAX_PORT) + 1 : port;
}

// The ports are below Linux's ephemeral ports, which start at 32768.
function jobPort(job: string | undefined): number {
  if (job === undefined) return DEFAULT_PORT;
  let hash = 0;
  for (const letter of job) hash = (hash * 31 + letter.charCodeAt(0)) % 10_000;
  return 20_000 + hash;
}

function numberIn(environment: Environment, name: string): number {
  const text = environment[name] ?? '';
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${name} is '${text}', not a number`);
  return Number(text);
}
