// What is known of providers and what the matrix does about it: nothing is left out without a reason.

const sharesMemory = ({ provider }) => provider === 'shm' || provider === 'efa';

/**
 * Rounds that are not run until something is repaired, `{ item, reason, applies(round) }`: `--pending`
 * runs them. They are counted and told.
 */
export const PENDING = [];

/** What no repair of this package can change. Such rounds are run in another way. */
export const LIMITS = [
  {
    name: 'locks of shm',
    reason:
      'shm, which efa uses within a host, guards the memory that processes share with spin locks: a ' +
      'peer of a process that is killed or stopped with one in hand spins (peer_smr->lock in prov/shm/src/smr_msg.c of ' +
      '1.17.0). So such a victim is turned by hand and ends between two turns.',
    applies: (round) => sharesMemory(round) && ['kill', 'stop'].includes(round.event),
    change: { victimDriver: 'manual', trigger: 'itself' },
  },
  {
    name: 'first messages of shm',
    reason:
      'a process that reads the first message of an endpoint of shm maps its memory by name, and ' +
      'crashes where that has closed by then (smr_progress_connreq in prov/shm/src/smr_progress.c of 1.17.0). ' +
      'So a process that was stopped while its peer opened, sent and closed is killed, not continued.',
    applies: (round) => sharesMemory(round) && round.event === 'stop' && round.action === 'open',
    change: { continues: false },
  },
];

/** What a provider keeps after a round, and how much of it in the life of a process. */
export const KEPT = [
  {
    name: 'sockets of tcp',
    reason:
      'tcp does not close the socket of a connection whose request it has not read yet when the ' +
      'endpoint closes (tcpx_accept in prov/tcp/src/tcpx_conn_mgr.c of 1.17.0).',
    applies: ({ provider }, { kind, name }) =>
      provider === 'tcp' && kind === 'descriptors' && name === 'socket',
  },
  {
    name: 'segments of softefa',
    reason:
      'softefa maps the segment of each process that it meets, until it looks for another one after ' +
      'that has ended (native/softefa/peers.cc).',
    applies: ({ provider }, { name, had, has }) =>
      provider.startsWith('efa') && /softefa-.*\/segment/.test(name) && has <= had + 2,
  },
];

/** Parked domains keep what they have until the process ends: those of dumpState() are reported. */
export const canBeParked = ({ kind }) => kind !== 'threads';

/** A round as it is run, and the names of the limits that change it. */
export function limited(planned) {
  const limits = LIMITS.filter(({ applies }) => applies(planned));
  const changes = limits.map(({ change }) => change);
  return {
    round: Object.assign({ ...planned, victimDriver: planned.driver }, ...changes),
    limits: limits.map(({ name }) => name),
  };
}

/** Why a round waits for a repair, if it does. */
export const pendingFor = (round) => PENDING.find(({ applies }) => applies(round));

/** What a provider is known to keep, if something that was left behind is that. */
export const keptBy = (round, left) => KEPT.find(({ applies }) => applies(round, left));
