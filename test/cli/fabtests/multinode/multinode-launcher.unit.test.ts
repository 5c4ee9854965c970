import { describe, expect, test } from 'vitest';
import {
  DEFAULT_PORT,
  membershipOf,
  parseRoot,
} from '../../../../dist/cli/fabtests/multinode/launcher.js';
import { expandNodelist } from '../../../../dist/cli/fabtests/multinode/nodelist.js';

describe('membershipOf', () => {
  const root = { host: 'head', port: DEFAULT_PORT };
  const master = { MASTER_ADDR: 'head' };
  test.each<[string, Record<string, string>, object]>([
    [
      'Open MPI on several hosts',
      {
        OMPI_COMM_WORLD_RANK: '3',
        OMPI_COMM_WORLD_SIZE: '4',
        OMPI_COMM_WORLD_LOCAL_SIZE: '2',
        ...master,
      },
      { rank: 3, ranks: 4, root },
    ],
    [
      'Open MPI on one host',
      { OMPI_COMM_WORLD_RANK: '0', OMPI_COMM_WORLD_SIZE: '4', OMPI_COMM_WORLD_LOCAL_SIZE: '4' },
      { rank: 0, ranks: 4, root: { host: '127.0.0.1', port: DEFAULT_PORT } },
    ],
    ['MPICH', { PMI_RANK: '1', PMI_SIZE: '2', ...master }, { rank: 1, ranks: 2, root }],
    [
      'MPICH on one host',
      { PMI_RANK: '1', PMI_SIZE: '2', MPI_LOCALNRANKS: '2' },
      { rank: 1, ranks: 2, root: { host: '127.0.0.1', port: DEFAULT_PORT } },
    ],
    [
      'torchrun',
      {
        RANK: '5',
        WORLD_SIZE: '8',
        LOCAL_RANK: '1',
        MASTER_ADDR: '10.0.0.1',
        MASTER_PORT: '29500',
      },
      { rank: 5, ranks: 8, root: { host: '10.0.0.1', port: 29_500 } },
    ],
    [
      'torchrun whose agent listens at MASTER_PORT',
      {
        RANK: '5',
        WORLD_SIZE: '8',
        ...master,
        MASTER_PORT: '29500',
        TORCHELASTIC_USE_AGENT_STORE: 'True',
      },
      { rank: 5, ranks: 8, root: { host: 'head', port: 29_501 } },
    ],
    [
      'Slurm',
      {
        SLURM_PROCID: '2',
        SLURM_NTASKS: '3',
        SLURM_JOB_NODELIST: 'gpu[003-004,9]',
        SLURM_JOB_ID: '17',
      },
      { rank: 2, ranks: 3, root: { host: 'gpu003', port: expect.any(Number) } },
    ],
    [
      'a step of Slurm on some of the nodes',
      {
        SLURM_PROCID: '0',
        SLURM_NTASKS: '2',
        SLURM_JOB_NODELIST: 'a[1-4]',
        SLURM_STEP_NODELIST: 'a[3-4]',
      },
      { rank: 0, ranks: 2, root: { host: 'a3', port: DEFAULT_PORT } },
    ],
    [
      'mpirun in a batch script of Slurm: the ranks are those of Open MPI',
      {
        SLURM_PROCID: '0',
        SLURM_NTASKS: '8',
        SLURM_JOB_NODELIST: 'a[1-2]',
        OMPI_COMM_WORLD_RANK: '3',
        OMPI_COMM_WORLD_SIZE: '4',
      },
      { rank: 3, ranks: 4, root: { host: 'a1', port: DEFAULT_PORT } },
    ],
  ])('%s', (_, environment, membership) => {
    expect(membershipOf(environment, {})).toEqual(membership);
  });

  test('an indexed job of Kubernetes needs the number of ranks', () => {
    const environment = { JOB_COMPLETION_INDEX: '1', ...master };
    expect(membershipOf(environment, { ranks: 2 })).toEqual({ rank: 1, ranks: 2, root });
    expect(() => membershipOf(environment, {})).toThrow('--ranks is missing: Kubernetes');
  });

  test('options override the variables of a launcher', () => {
    const environment = { RANK: '5', WORLD_SIZE: '8', ...master };
    const given = { rank: 1, ranks: 2, root: 'other:5' };
    expect(membershipOf(environment, given)).toEqual({
      rank: 1,
      ranks: 2,
      root: { host: 'other', port: 5 },
    });
  });

  test('all ranks of a job use the same port, and other jobs usually another', () => {
    const port = (job: string, rank: string) =>
      membershipOf(
        { SLURM_PROCID: rank, SLURM_NTASKS: '3', SLURM_JOB_NODELIST: 'a', SLURM_JOB_ID: job },
        {},
      ).root.port;
    expect(port('4711', '0')).toBe(port('4711', '2'));
    expect(new Set(['1', '2', '3', '4712'].map((job) => port(job, '0'))).size).toBe(4);
    expect(port('123456789012', '0')).toBeLessThan(32_768);
  });

  test.each<[object, object, string]>([
    [{}, {}, 'no launcher has started this process'],
    [{}, { rank: 0 }, '--ranks is missing'],
    [{}, { rank: 2, ranks: 2, root: 'a' }, 'rank 2 is not one of 2 ranks'],
    [{}, { rank: 1, ranks: 2 }, '--root is missing'],
    [{ PMI_RANK: '1', PMI_SIZE: '2', MPI_LOCALNRANKS: '1' }, {}, '--root is missing: MPICH'],
    [{ RANK: 'x', WORLD_SIZE: '2' }, {}, "RANK is 'x', not a number"],
    [
      { RANK: '1', WORLD_SIZE: '2', MASTER_ADDR: 'a', MASTER_PORT: '99999' },
      {},
      'MASTER_PORT is 99999, not a port from 1 to 65535',
    ],
    [
      {
        RANK: '1',
        WORLD_SIZE: '2',
        MASTER_ADDR: 'a',
        MASTER_PORT: '99999',
        TORCHELASTIC_USE_AGENT_STORE: 'True',
      },
      {},
      'MASTER_PORT is 99999, not a port from 1 to 65535',
    ],
    [{}, { rank: 1, ranks: 2, root: 'a:b' }, '--root must be HOST'],
    [{}, { rank: 1, ranks: 2, root: 'a:70000' }, '--root must be HOST'],
  ])('%j with %j is refused', (environment, given, reason) => {
    expect(() => membershipOf(environment as Record<string, string>, given)).toThrow(reason);
  });
});

test.each([
  ['node0', { host: 'node0', port: DEFAULT_PORT }],
  ['node0:81', { host: 'node0', port: 81 }],
  ['[fe80::1]', { host: 'fe80::1', port: DEFAULT_PORT }],
  ['[fe80::1]:81', { host: 'fe80::1', port: 81 }],
])('--root %s', (text, root) => {
  expect(parseRoot(text)).toEqual(root);
});

describe('expandNodelist', () => {
  test.each([
    ['login', ['login']],
    ['a,b', ['a', 'b']],
    ['gpu[1-3,7],login', ['gpu1', 'gpu2', 'gpu3', 'gpu7', 'login']],
    ['gpu[008-010]', ['gpu008', 'gpu009', 'gpu010']],
    ['r[1-2]n[01-02]', ['r1n01', 'r1n02', 'r2n01', 'r2n02']],
    ['p[5]-efa.cluster', ['p5-efa.cluster']],
  ])('%s', (text, hosts) => {
    expect(expandNodelist(text)).toEqual(hosts);
  });

  test.each(['', 'a[', 'a]', 'a[1-', 'a[x]', 'a[3-1]', 'a[1-99999999]', 'a b'])(
    'refuses %j',
    (text) => {
      expect(() => expandNodelist(text)).toThrow('is not a list of hosts');
    },
  );
});
