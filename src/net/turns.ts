// Node.js calls back for one event of the system at a time: the ticks and promises that an event has scheduled run before the
// next event. One call of the native code tells many events.
let isTaken = false;
let waiting = 0;
const resolved = Promise.resolve();

const end = (): void => {
  isTaken = false;
};

function begin(): void {
  isTaken = true;
  resolved.then(end);
}

/**
 * Begins a turn for an event that the program sees. Returns false if there was such an event since ticks and promises have run
 * last, or if earlier ones wait: the event must then wait too, for inLaterTurn().
 */
export function takeTurn(): boolean {
  if (isTaken || waiting > 0) return false;
  begin();
  return true;
}

/** Calls a function in a turn of its own, after those that wait already. */
export function inLaterTurn(call: () => void): void {
  waiting += 1;
  setImmediate(run, call);
}

/** Calls a function now, or after the events that wait already. */
export function inTurn(call: () => void): void {
  if (takeTurn()) call();
  else inLaterTurn(call);
}

/** Whether events wait. */
export const hasWaiting = (): boolean => waiting > 0;

function run(call: () => void): void {
  waiting -= 1;
  begin();
  call();
}
