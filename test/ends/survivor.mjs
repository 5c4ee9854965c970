// The side that goes on when the other one has ended.
import { Side } from './side.mjs';

/** Plays a round to its end and tells what was wrong. */
export async function survive(round, channel) {
  const side = new Side(round, 'survivor', channel);
  channel.send('open', await side.open());
  await side.meet(await channel.next('meet'));
  channel.send('met');
  if (round.moment === 'after') await side.complete();
  if (round.moment === 'while') side.begin();
  channel.send('begun');
  await channel.next('gone');
  if (round.moment === 'before') side.begin();
  return side.end();
}
