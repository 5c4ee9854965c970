// Plans the rounds from a seed: which side ends, how, and the operations of both sides at that time.

/** efa carries its traffic through shm within a host, unless FI_EFA_ENABLE_SHM_TRANSFER=0: efa-wire. */
export const PROVIDERS = ['shm', 'tcp', 'udp', 'efa', 'efa-wire'];
export const DRIVERS = ['thread', 'loop', 'manual'];
export const EVENTS = ['kill', 'stop', 'close', 'terminate', 'exit'];
export const ACTIONS = ['send', 'receive', 'large', 'rma', 'close', 'open'];
export const MOMENTS = ['before', 'while', 'after'];

/** The number of rounds of one provider that combine every driver, event, action and moment. */
export const CYCLE = DRIVERS.length * EVENTS.length * ACTIONS.length * MOMENTS.length;
const BLOCK = DRIVERS.length * EVENTS.length;
const PASS = BLOCK * ACTIONS.length;

/**
 * @typedef {object} Round
 * @property {string} seed
 * @property {number} number the index among the provider's rounds, from 0
 * @property {string} provider
 * @property {string} driver
 * @property {string} event the event that happens to the victim
 * @property {string} action
 * @property {string} moment
 * @property {'survivor' | 'victim'} actor the side that performs the action; the other one responds
 * @property {'itself' | 'outside'} trigger whether the victim itself or the coordinator causes the event
 * @property {number} turns of the victim's event loop before the victim causes the event
 * @property {number} microseconds before the coordinator causes the event
 * @property {'write' | 'read'} rma
 * @property {number} bytes of a large message
 * @property {boolean} continues whether a stopped victim is continued or killed
 * @property {'endpoint' | 'domain'} closes the object that is closed
 */

/** A generator of numbers from 0 to 1, seeded by a text (mulberry32). */
export function randomOf(text) {
  let state = 2166136261;
  for (const char of text) state = Math.imul(state ^ char.charCodeAt(0), 16777619);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled(list, random) {
  const result = [...list];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j], result[i]];
  }
  return result;
}

/**
 * The driver, event, action and moment of a round. 15 rounds combine each driver with each event. 90 rounds combine
 * both with each action, with another moment for each driver. 270 rounds have all combinations.
 */
function cellOf(seed, provider, number) {
  const of = randomOf(`${seed}/${provider}`);
  const [drivers, events, actions, moments] = [DRIVERS, EVENTS, ACTIONS, MOMENTS].map((list) =>
    shuffled(list, of),
  );
  const pass = Math.floor(number / PASS);
  const block = Math.floor((number % PASS) / BLOCK);
  const order = shuffled(
    Array.from({ length: BLOCK }, (_, i) => i),
    randomOf(`${seed}/${provider}/${pass}/${block}`),
  );
  const place = order[number % BLOCK];
  const driver = place % drivers.length;
  const event = Math.floor(place / drivers.length);
  const action = (event + driver * 2 + block) % actions.length;
  return {
    driver: drivers[driver],
    event: events[event],
    action: actions[action],
    moment: moments[(driver + event + action + pass) % moments.length],
  };
}

/**
 * @param {string} seed
 * @param {string} provider
 * @param {number} number
 * @returns {Round}
 */
export function roundOf(seed, provider, number) {
  const random = randomOf(`${seed}/${provider}/${number}`);
  const oneOf = (list) => list[Math.floor(random() * list.length)];
  const sizes = provider.startsWith('efa') ? [20_000, 2 ** 20] : [2 ** 20, 3 * 2 ** 20];
  return {
    seed,
    number,
    provider,
    ...cellOf(seed, provider, number % CYCLE),
    actor: oneOf(['survivor', 'victim']),
    trigger: oneOf(['itself', 'outside']),
    turns: Math.floor(random() ** 2 * 20),
    microseconds: Math.floor(10 ** (1 + random() * 2.5)),
    rma: oneOf(['write', 'read']),
    bytes: oneOf(sizes),
    continues: random() < 0.5,
    closes: oneOf(['endpoint', 'domain']),
  };
}

/** The given number of rounds, alternating between providers. */
export function planOf(seed, rounds, providers = PROVIDERS) {
  return Array.from({ length: rounds }, (_, i) =>
    roundOf(seed, providers[i % providers.length], Math.floor(i / providers.length)),
  );
}

/** The command line that repeats a round. */
export const replay = ({ seed, provider, number }) =>
  `npm run suite -- ends --seed ${seed} --provider ${provider} --only ${number}`;

/** @param {Round} round */
export function describe(round) {
  const { seed, number, provider, driver, event, action, moment } = round;
  const what = action === 'rma' ? round.rma : action;
  return (
    `seed ${seed}, round ${number} of ${provider}, ${driver} driver: peer ${PAST[event]} ` +
    `${moment} ${what} by the ${round.actor}`
  );
}

const PAST = {
  kill: 'killed',
  stop: 'stopped',
  close: 'closed',
  terminate: 'terminated (a worker)',
  exit: 'exits',
};
