// A round: two processes connect, one of them ends, and both report their findings.
import { canBeParked, keptBy, limited } from './limits.mjs';
import { stacksOf } from './stacks.mjs';

/** The limit in ms from the timeout of an operation to its settlement. */
const SETTLE_LIMIT = 50;
/** The limit in ms from the timeout of close() to its return. */
const CLOSE_LIMIT = 500;
/**
 * The limit in ms for which the event loop may be blocked. Opening and closing are synchronous: with efa they take 50
 * ms. A round may open two endpoints in one turn. An endpoint of tcp has 60 MB, whose page faults take 240 ms on a slow
 * machine.
 *
 * @param opening the time in ms for which an opening has blocked the event loop
 */
const stallLimit = (provider, opening) => (provider.startsWith('efa') ? 500 : 250) + 2 * opening;
/** The limit in ms for a process to end after it is asked to. */
const EXIT_LIMIT = 1000;
/** The limit in ms for each step of a round. */
const STEP_LIMIT = 10_000;

class Stuck extends Error {}

/**
 * @param planned a round of the plan
 * @param {import('./parties.mjs').Parties} parties
 */
export async function runRound(planned, parties) {
  const { round, limits } = limited(planned);
  const outcome = {
    planned,
    limits,
    failures: [],
    late: 0,
    close: 0,
    stall: 0,
    operations: 0,
    parked: 0,
  };
  const [survivor, victim] = [parties.take('survivor'), parties.take('victim')];
  try {
    await runSteps(round, survivor, victim, outcome);
  } catch (error) {
    if (!(error instanceof Stuck)) throw error;
    outcome.failures.push(error.message);
    for (const party of [survivor, victim]) party.broken = true;
  }
  for (const [role, party] of Object.entries({ survivor, victim })) {
    const text = party.takeErrors();
    if (text !== '') outcome.failures.push(`the ${role} prints ${text}`);
  }
  outcome.failures.push(...(await parties.release()));
  return outcome;
}

async function runSteps(round, survivor, victim, outcome) {
  const names = new Map([
    [survivor, 'survivor'],
    [victim, 'victim'],
  ]);
  const expect = (party, promise, what) => within(names.get(party), party, promise, what);
  const both = (ask) => Promise.all([survivor, victim].map(ask));
  const { event, trigger, moment } = round;

  for (const [party, role] of names) party.send('run', { round, role });
  const [ofSurvivor, ofVictim] = await both((party) => expect(party, party.next('open'), 'open'));
  survivor.send('connect', ofVictim);
  victim.send('connect', ofSurvivor);
  await both((party) => expect(party, party.next('connected'), 'connect to its peer'));
  // The last message of a victim that kills itself may be lost.
  const ready = Promise.race([victim.next('ready'), victim.exited]);
  await expect(survivor, survivor.next('ready'), 'do its part');
  await withLimit('victim', victim, ready, 'do its part');

  const began = performance.now();
  if (trigger === 'itself' && moment !== 'while') victim.send('continue');
  if (trigger === 'outside') {
    spin(round.microseconds);
    if (event === 'kill') victim.signal('SIGKILL');
    else if (event === 'stop') victim.signal('SIGSTOP');
    else victim.send('end');
  }
  const ended = {
    kill: () => victim.exited,
    exit: () => victim.exited,
    stop: () => victim.stopped(),
    close: () => victim.next('ending'),
    terminate: () => victim.next('ending'),
  };
  const end = await withLimit('victim', victim, ended[event](), `${event}`);
  const took = performance.now() - began;
  if (event === 'exit') {
    if (end.code !== 0) outcome.failures.push(`the victim ends with ${end.signal ?? end.code}`);
    if (took > EXIT_LIMIT) outcome.failures.push(`the victim takes ${took.toFixed()} ms to exit`);
  }
  if (event === 'exit' && victim.files.length > 0) {
    outcome.failures.push(`the victim leaves ${victim.files}`);
  }

  survivor.send('ended');
  const result = await expect(survivor, survivor.next('result'), 'continue');
  recordResult('survivor', result, outcome);
  if (event === 'stop') {
    victim.signal(round.continues ? 'SIGCONT' : 'SIGKILL');
    if (round.continues) victim.send('finish');
    else await victim.exited;
  }
  const survives =
    event === 'close' || event === 'terminate' || (event === 'stop' && round.continues);
  if (!survives) return;
  const last = await expect(victim, victim.next('result'), 'end its part');
  // A stopped victim is late, and its event loop is blocked.
  recordResult('victim', event === 'stop' ? { ...last, close: 0, stall: 0 } : last, outcome);
}

/** Records a leftover as a known limit of the provider or as a failure. */
function recordLeftover(role, what, outcome) {
  const kept = keptBy(outcome.planned, what);
  const { kind, name, had, has } = what;
  if (kept !== undefined) outcome.limits.push(kept.name);
  else outcome.failures.push(`${role}: left behind: ${kind}: ${name} (${had} before, now ${has})`);
}

function recordResult(role, result, outcome) {
  const { failures, operations, late, close, stall, opening, left, parked } = result;
  const fail = (text) => outcome.failures.push(`${role}: ${text}`);
  for (const failure of failures) fail(failure);
  outcome.parked += parked;
  for (const what of left) {
    if (parked === 0 || !canBeParked(what)) recordLeftover(role, what, outcome);
  }
  if (late.late > SETTLE_LIMIT)
    fail(`a ${late.what} settles ${late.late.toFixed()} ms after its timeout`);
  if (close > CLOSE_LIMIT) fail(`close() returns ${close.toFixed()} ms after its timeout`);
  if (stall > stallLimit(outcome.planned.provider, opening)) {
    fail(
      `the event loop is blocked for ${stall.toFixed()} ms, by an opening for ${opening.toFixed()}`,
    );
  }
  outcome.operations += operations;
  outcome.late = Math.max(outcome.late, late.late);
  outcome.close = Math.max(outcome.close, close);
  outcome.stall = Math.max(outcome.stall, stall);
}

/** Waits for a step of a party. Throws Stuck if the party does not complete it, or exits. */
function within(role, party, promise, what) {
  const ended = party.exited.then(({ code, signal }) => {
    throw new Stuck(`the ${role} ends with ${signal ?? code} instead of the step: ${what}`);
  });
  return withLimit(role, party, Promise.race([promise, ended]), what);
}

async function withLimit(role, party, promise, what) {
  let timer;
  const overdue = new Promise((_, reject) => {
    timer = setTimeout(() => {
      const stacks = stacksOf(party.pid);
      const where = `the ${role} does not ${what} within ${STEP_LIMIT} ms; its last step is: ${party.step}`;
      reject(new Stuck(stacks === '' ? where : `${where}\n${stacks}`));
    }, STEP_LIMIT);
  });
  try {
    return await Promise.race([promise, overdue]);
  } finally {
    clearTimeout(timer);
  }
}

function spin(microseconds) {
  const end = performance.now() + microseconds / 1000;
  while (performance.now() < end);
}
