// The side that continues after the other one has ended.
import { Side } from './side.mjs';

/** Plays a round to its end. Returns what was wrong. */
export async function survive(round, channel) {
  const side = await Side.start(round, 'survivor', channel);
  await channel.next('gone');
  if (round.moment === 'before') side.begin();
  return side.end();
}
