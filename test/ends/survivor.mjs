// The side that continues after its peer has exited.
import { Side } from './side.mjs';

/** Runs a round to its end. Returns its result. */
export async function runSurvivor(round, channel) {
  const side = await Side.start(round, 'survivor', channel);
  await channel.next('ended');
  if (round.moment === 'before') side.begin();
  return side.end();
}
