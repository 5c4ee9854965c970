import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from './session.js';

const WORD_BYTES = 4;
const RESEND = 250; // milliseconds
const ATTEMPTS = 4;

/** The last word of both sides: ft_finalize(). */
export async function finish(session: Session): Promise<void> {
  const { dialect, settings, oob, info } = session;
  session.end();
  if (dialect.drains && settings.oobSync && oob) {
    oob.send(Buffer.alloc(WORD_BYTES));
    await session.until(oob.receive(WORD_BYTES));
    return;
  }
  session.postReceive();
  await session.send(new Uint8Array(WORD_BYTES));
  if (info.epAttr.type === 'FI_EP_DGRAM') await insist(session);
  else await session.receive();
}

// A last datagram that came before its receive is lost, ours as well as theirs: nobody minds.
async function insist(session: Session): Promise<void> {
  const heard = session.receive().then(() => true);
  heard.catch(() => {});
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (await session.until(Promise.race([heard, sleep(RESEND, false)]))) return;
    await session.send(new Uint8Array(WORD_BYTES));
  }
}
