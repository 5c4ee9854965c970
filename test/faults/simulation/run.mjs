// Runs a program: its rounds, the checks after each of them, and the check that no resource is left at the end.
import { canBeParked } from '../../ends/limits.mjs';
import { startFaults } from './faults.mjs';
import { Model } from './model.mjs';
import { isHarmful } from './plan.mjs';
import { Failure } from './process.mjs';
import { PROFILES, TRANSFERS } from './profiles.mjs';

const OPTIONS = {
  tcp: { provider: 'tcp', node: '127.0.0.1' },
  shm: { provider: 'shm' },
  efa: { provider: 'efa' },
};
const CAPS = ['FI_MSG', 'FI_TAGGED', 'FI_RMA'];

/** The errors of open() under the faults of OPENING. efa gives FI_EINVAL if a queue pair cannot be created. */
const REFUSALS = ['FI_ENOMEM', 'FI_ENOSPC', 'FI_ENODATA', 'FI_EINVAL', 'FI_EAGAIN', 'FI_EIO'];

/** The options of the objects that a process of a program opens. */
function neededBy({ provider, drivers, maps, profile, rounds }, process) {
  const { slot, arena } = PROFILES[profile];
  const operations = rounds.flatMap((round) => round.operations);
  const kinds = new Set(operations.map(({ kind }) => kind));
  const transfers = operations.filter(({ kind }) => kind in TRANSFERS);
  const longest = Math.max(0, ...transfers.map(({ bytes }) => bytes));
  const needsEngine = transfers.length > 0 || kinds.has('notes');
  return {
    options: OPTIONS[provider],
    driver: drivers[process],
    caps: kinds.has('atomic') ? [...CAPS, 'FI_ATOMIC'] : CAPS,
    slot,
    transfers: needsEngine && { maps, longest, arena },
  };
}

/**
 * Opens, or opens again, the objects of a program. Regions are new, so the model is new too.
 *
 * @returns the model and what was opened, or undefined if the limit on locked memory is too small
 */
async function openAll(program, players, softefa, faults, sum) {
  const openOne = (i) => players[i].ask('open', neededBy(program, i));
  const end = startFaults(faults, players, softefa);
  const attempts = await Promise.allSettled(players.map((_, i) => openOne(i)));
  count(sum, await end());
  const opened = [];
  for (const [i, { value, reason }] of attempts.entries()) {
    if (reason === undefined) opened.push(value);
    else if (program.memlock && reason.code === 'FI_ENOMEM') return undefined;
    else if (faults.length > 0 && REFUSALS.includes(reason.code)) opened.push(await openOne(i));
    else throw reason;
  }
  try {
    await Promise.all(players.map((player, i) => connect(player, opened, i)));
  } catch (error) {
    // efa registers memory also after the opening, and a failure breaks the endpoint.
    if (faults.length === 0 || !REFUSALS.includes(error.code)) throw error;
    await closeAll(players);
    return openAll(program, players, softefa, [], sum);
  }
  return { model: new Model(players.length), opened };
}

const connect = (player, opened, i) =>
  player.ask('connect', { peers: opened.map((peer, k) => ({ ...peer, self: k === i })) });

/** One process closes and opens everything, while the others keep their objects. */
async function restart(program, players, index, { model, opened }) {
  await players[index].ask('close');
  opened[index] = await players[index].ask('open', neededBy(program, index));
  const peer = opened[index];
  await Promise.all(
    players.map((player, i) =>
      i === index ? connect(player, opened, i) : player.ask('meet', { index, peer }),
    ),
  );
  model.restarted(index);
}

function count(sum, happened) {
  for (const [kind, times] of happened) sum.faults.set(kind, (sum.faults.get(kind) ?? 0) + times);
}

const closeAll = (players) => Promise.all(players.map((player) => player.ask('close')));

/**
 * @param pool provides processes, `take(index)`, and replaces those that have exited
 * @returns `{ problems, bytes, faults, operations, earlier, refused }`: `earlier` are the seeds of the programs that the
 * processes had run; `refused` is the reason why nothing was opened, which is no problem
 */
export async function run(program, pool, softefa) {
  const sum = { problems: [], bytes: 0, faults: new Map(), operations: 0, earlier: [] };
  const { provider, memlock, drivers, opening } = program;
  const take = () => Promise.all(drivers.map((_, i) => pool.take(provider, i, memlock)));
  let players = await take();
  sum.earlier = [...new Set(players.flatMap((player) => player.programs))];
  for (const player of players) player.programs.push(program.seed);
  await Promise.all(players.map((player) => player.ask('baseline')));
  try {
    let session = await openAll(program, players, softefa, opening, sum);
    if (session === undefined)
      sum.refused = `nothing opens within ${memlock} bytes of locked memory`;
    for (const [i, round] of program.rounds.entries()) {
      if (session === undefined) break;
      await runRound(round, PROFILES[program.profile], players, session.model, softefa, sum);
      if (sum.problems.length > 0) break;
      if (i === program.rounds.length - 1) continue;
      if (round.reopens || isHarmful(round)) {
        await closeAll(players);
        if (players.some(({ running }) => !running)) players = await replaced(players, take);
        session = await openAll(program, players, softefa, [], sum);
      } else if (round.restarts !== undefined) {
        await restart(program, players, round.restarts, session);
      }
    }
    await closeAll(players);
    await checkLeftovers(program, players, sum);
  } catch (error) {
    sum.problems.push(error instanceof Failure ? error.message : error.stack);
  }
  if (sum.problems.length > 0) await pool.drop();
  return sum;
}

async function replaced(players, take) {
  const fresh = await take();
  await Promise.all(fresh.filter((p) => !players.includes(p)).map((p) => p.ask('baseline')));
  return fresh;
}

async function runRound(round, { short, long }, players, model, softefa, sum) {
  const { operations, faults } = round;
  const timeout = isHarmful(round) ? short : long;
  const room = Math.max(
    4,
    ...operations.filter(({ kind }) => kind === 'message').map((o) => o.bytes),
  );
  const given = operations.map((operation) => ({
    ...operation,
    timeout,
    room,
    expected: operation.kind === 'read' ? model.expected(operation.to, operation.slot) : undefined,
  }));
  const end = startFaults(faults, players, softefa);
  const tokens = await Promise.all(
    players.map((player, i) =>
      player.ask('prepare', { operations: given.filter(({ to }) => to === i) }),
    ),
  );
  const allTokens = Object.assign({}, ...tokens);
  const outcomes = await Promise.all(
    players.map((player, i) =>
      player.ask(
        'go',
        {
          faults: faults.filter(({ process }) => process === i),
          operations: given
            .filter(({ from }) => from === i)
            .map((operation) => ({ ...operation, token: allTokens[operation.id] })),
        },
        timeout,
      ),
    ),
  );
  count(sum, await end());
  sum.operations += outcomes.flat().filter(Boolean).length;
  sum.bytes += outcomes.flat().reduce((all, outcome) => all + (outcome?.bytes ?? 0), 0);
  sum.problems.push(...model.record(round, outcomes));
  for (const [i, player] of players.entries()) {
    const slots = model.slotsOf(i).filter(({ id }) => operations.some((o) => o.id === id));
    const found = await player.ask('check', { slots });
    if (found === undefined) continue; // it was killed
    sum.problems.push(...found.problems, ...model.checkCounter(i, found.counter));
    sum.bytes += slots.reduce((all, { bytes }) => all + bytes, 0);
  }
}

async function checkLeftovers({ provider }, players, sum) {
  for (const player of players) {
    const found = await player.ask('leftovers', { provider });
    if (found === undefined) continue;
    const { left, parked } = found;
    for (const what of left) {
      if (parked > 0 && canBeParked(what)) continue;
      const { kind, name, had, has } = what;
      sum.problems.push(
        `process ${player.index} keeps ${kind} ${name}: ${had} before, ${has} after`,
      );
    }
  }
}
