// The side that ends, in the middle of what it does.
import { Side } from './side.mjs';

/** How a victim ends by itself; what is said before it does. */
const ENDS = {
  kill: () => process.kill(process.pid, 'SIGKILL'),
  stop: () => process.kill(process.pid, 'SIGSTOP'),
  exit: () => process.exit(0),
  terminate: (channel) => channel.send('terminate'),
  close: () => {},
};

/** Plays a round to its end; tells what was wrong where it lives to tell. */
export async function fall(round, channel) {
  const side = await Side.start(round, 'victim', channel);
  if (round.trigger === 'itself') {
    if (round.moment !== 'while') await channel.next('on');
    for (let i = 0; i < round.turns; i++) await new Promise(setImmediate);
    ENDS[round.event](channel);
  } else if (round.event === 'exit' || round.event === 'close') {
    await channel.next('end');
    ENDS[round.event](channel);
  }
  if (round.event !== 'close') await channel.next('finish'); // stopped, it may be continued
  channel.send('falling');
  return side.end();
}
