// The side that ends while its operations are in flight.
import { Side } from './side.mjs';

/** The ways in which a victim ends itself. */
const ENDS = {
  kill: () => process.kill(process.pid, 'SIGKILL'),
  stop: () => process.kill(process.pid, 'SIGSTOP'),
  exit: () => process.exit(0),
  terminate: (channel) => channel.send('terminate'),
  close: () => {},
};

/** Runs a round to its end. If the victim survives, returns its result. */
export async function runVictim(round, channel) {
  const side = await Side.start(round, 'victim', channel);
  if (round.trigger === 'itself') {
    if (round.moment !== 'while') await channel.next('continue');
    for (let i = 0; i < round.turns; i++) await new Promise(setImmediate);
    ENDS[round.event](channel);
  } else if (round.event === 'exit' || round.event === 'close') {
    await channel.next('end');
    ENDS[round.event](channel);
  }
  if (round.event !== 'close') await channel.next('finish'); // a stopped victim may be continued
  channel.send('ending');
  return side.end();
}
