// Known limits of providers, and how the rounds take them into account. No round is left out without a reason.

const sharesMemory = ({ provider }) => provider === 'shm' || provider === 'efa';

/**
 * Rounds that do not run until a defect is repaired, `{ item, reason, applies(round) }`. They are counted and
 * reported. `--pending` runs them.
 */
export const PENDING = [];

/** Limits that no change of this package can remove. Such rounds run in another way. */
export const LIMITS = [
  {
    name: 'locks of shm',
    reason:
      'shm, which efa uses within a host, guards the shared memory of processes with spin locks. If a process is ' +
      'killed or stopped while it holds one, its peer spins (peer_smr->lock in prov/shm/src/smr_msg.c of 1.17.0). ' +
      'Such a victim therefore uses the manual driver and ends between two turns.',
    applies: (round) => sharesMemory(round) && ['kill', 'stop'].includes(round.event),
    change: { victimDriver: 'manual', trigger: 'itself' },
  },
  {
    name: 'first messages of shm',
    reason:
      'a process that reads the first message of an shm endpoint maps the memory of that endpoint by name, and ' +
      'crashes if the endpoint has closed by then (smr_progress_connreq in prov/shm/src/smr_progress.c of 1.17.0). ' +
      'A process that was stopped while its peer opened, sent and closed is therefore killed, not continued.',
    applies: (round) => sharesMemory(round) && round.event === 'stop' && round.action === 'open',
    change: { continues: false },
  },
];

/** Calls whose failure ends the process in the provider. `first` counts the calls of one kind in the run. */
export const CRASHES = [
  {
    name: 'own address handle',
    reason:
      'if efa cannot create the address handle of its own address, it frees its queue pair, and again when the ' +
      'endpoint closes (efa_ep_enable in prov/efa/src/efa_ep.c of 1.17.0). Each run opens its two endpoints first.',
    applies: ({ layer, provider }, { kind, first }) =>
      layer === 'verbs' && provider === 'efa' && kind === 'addressHandle' && first <= 2,
  },
];

/** Resources that a provider keeps after a round, and how many over the lifetime of a process. */
export const KEPT = [
  {
    name: 'sockets of tcp',
    reason:
      'if an endpoint closes before tcp has read the request of a connection, tcp does not close the ' +
      'socket of the connection (tcpx_accept in prov/tcp/src/tcpx_conn_mgr.c of 1.17.0).',
    applies: ({ provider }, { kind, name }) =>
      provider === 'tcp' && kind === 'descriptors' && name === 'socket',
  },
  {
    name: 'segments of softefa',
    reason:
      'softefa maps the segment of each peer process. After that process has ended, it unmaps the segment ' +
      'only when it looks for another peer (native/softefa/peers.cc). A segment is one descriptor, and a mapping ' +
      'for its start and for each of the two queue pairs that are used.',
    applies: ({ provider }, { kind, name, had, has }) =>
      provider.startsWith('efa') &&
      /softefa-.*\/segment/.test(name) &&
      has <= had + (kind === 'mappings' ? 6 : 2),
  },
];

/**
 * Parked domains keep their resources until the process ends. dumpState() reports them. If fi_close(3) of efa does not
 * return, its thread stays, too.
 */
export const canBeParked = ({ kind, name }) => kind !== 'threads' || name === 'libfabric-close';

/** The round with its limits applied, and the names of the limits that change it. */
export function limited(planned) {
  const limits = LIMITS.filter(({ applies }) => applies(planned));
  const changes = limits.map(({ change }) => change);
  return {
    round: Object.assign({ ...planned, victimDriver: planned.driver }, ...changes),
    limits: limits.map(({ name }) => name),
  };
}

/** The reason why a round waits for a repair, if it does. */
export const pendingFor = (round) => PENDING.find(({ applies }) => applies(round));

/** Whether the process has crashed, and it is known to crash if these calls fail. */
export const endsProcess = (run, plan, problem) =>
  /SIGSEGV|SIGABRT/.test(problem ?? '') && CRASHES.some(({ applies }) => applies(run, plan));

/** The known resource of a provider that a leftover belongs to, if there is one. */
export const keptBy = (round, left) => KEPT.find(({ applies }) => applies(round, left));
