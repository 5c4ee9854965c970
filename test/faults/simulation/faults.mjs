// Starts the faults of a round and ends them.
import { setTimeout as sleep } from 'node:timers/promises';

/** The actions of a process that stops for some time, and of one that ends. */
const OF_PROCESSES = {
  async stop(player, { milliseconds }) {
    await sleep(milliseconds / 4);
    player.signal('SIGSTOP');
    await sleep(milliseconds);
    player.signal('SIGCONT');
  },
  async killed(player, { milliseconds }) {
    await sleep(milliseconds);
    player.signal('SIGKILL');
  },
};

/** Conditions of softefa's whole namespace. */
const CONDITIONS = {
  reorder: ({ milliseconds }) => ({ reorder: milliseconds }),
  drop: ({ perMille }) => ({ drop: perMille }),
};

/** Faults of softefa at the node of a process. */
const OF_DEVICES = [
  'delay',
  'portDown',
  'freeze',
  'rnr',
  'status',
  'registration',
  'creation',
  'modify',
  'post',
  'receive',
  'poll',
];

/**
 * Starts faults. Returns a function that ends them and returns how many of each kind occurred.
 *
 * @param softefa the SoftefaFaults of the namespace
 */
export function startFaults(faults, players, softefa) {
  const ends = [];
  const processes = [];
  const happened = [];
  const count = (kind, times = 1) => happened.push([kind, times]);
  for (const fault of faults) {
    const { kind, process, seed } = fault;
    const player = players[process];
    if (kind in OF_PROCESSES) {
      count(kind);
      processes.push(OF_PROCESSES[kind](player, fault));
    } else if (kind in CONDITIONS) {
      count(kind);
      softefa.set(CONDITIONS[kind](fault));
      ends.push(() => softefa.set({ reorder: 0, drop: 0 }));
    } else if (fault.call) {
      player.injector.draw(fault.call, fault.chance, fault.error, seed);
      ends.push(() => {
        count(kind, player.injector.counts(fault.call).failed);
        player.injector.reset();
      });
    } else if (OF_DEVICES.includes(kind)) {
      const { value, milliseconds } = fault;
      const rule = softefa.add(kind, {
        node: process,
        ...(fault.count && { count: fault.count }),
        ...(fault.after && { after: fault.after }),
        ...(value && { value }),
      });
      if (milliseconds) processes.push(sleep(milliseconds).then(() => rule.remove()));
      ends.push(() => {
        count(kind, rule.hits);
        rule.remove();
      });
    } else count(kind); // the process does it itself: slow, closed
  }
  return async () => {
    await Promise.all(processes);
    for (const end of ends) end();
    return happened;
  };
}
