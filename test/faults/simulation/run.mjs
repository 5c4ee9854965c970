// Runs a program: its rounds, the checks after each of them, and the check that nothing is left in the end.
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

/** How open() reports what the faults of OPENING do. efa gives FI_EINVAL if a queue pair cannot be created. */
const REFUSALS = ['FI_ENOMEM', 'FI_ENOSPC', 'FI_ENODATA', 'FI_EINVAL', 'FI_EAGAIN', 'FI_EIO'];

/**
 * Opens, or opens again, what a program uses. Regions are new, so the model is.
 *
 * @returns the model, or undefined if the limit on locked memory is too small
 */
async function openAll(program, players, softefa, faults, sum) {
  const { provider, drivers, maps } = program;
  const { slot, arena } = PROFILES[program.profile];
  const operations = program.rounds.flatMap((round) => round.operations);
  const transfers = operations.filter(({ kind }) => kind in TRANSFERS);
  const longest = Math.max(0, ...transfers.map(({ bytes }) => bytes));
  const openOne = (i) =>
    players[i].ask('open', {
      options: OPTIONS[provider],
      driver: drivers[i],
      caps: operations.some(({ kind }) => kind === 'atomic') ? [...CAPS, 'FI_ATOMIC'] : CAPS,
      slot,
      transfers: transfers.length > 0 && { maps, longest, arena },
    });
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
  const connecting = players.map((player, i) =>
    player.ask('connect', { peers: opened.map((peer, k) => ({ ...peer, self: k === i })) }),
  );
  await Promise.all(connecting);
  return new Model(players.length);
}

function count(sum, happened) {
  for (const [kind, times] of happened) sum.faults.set(kind, (sum.faults.get(kind) ?? 0) + times);
}

const closeAll = (players) => Promise.all(players.map((player) => player.ask('close')));

/**
 * @param pool gives processes: `take(index)`, and replaces those that have ended
 * @returns `{ problems, bytes, faults, operations, earlier, refused }`: `earlier` are the seeds of the programs that the
 * processes had run; `refused` tells why nothing was opened, which is no problem
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
    let model = await openAll(program, players, softefa, opening, sum);
    if (model === undefined) sum.refused = `nothing opens within ${memlock} bytes of locked memory`;
    for (const [i, round] of program.rounds.entries()) {
      if (model === undefined) break;
      await runRound(round, PROFILES[program.profile], players, model, softefa, sum);
      if (sum.problems.length > 0) break;
      const last = i === program.rounds.length - 1;
      if (last || !(round.reopens || isHarmful(round))) continue;
      await closeAll(players);
      if (players.some(({ running }) => !running)) players = await replaced(players, take);
      model = await openAll(program, players, softefa, [], sum);
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
