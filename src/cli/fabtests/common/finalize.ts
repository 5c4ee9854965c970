import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from './session.js';

const MESSAGE_BYTES = 4;
const RESEND = 250; // milliseconds
const ATTEMPTS = 4;

/** Exchanges the final messages of both sides: ft_finalize(). */
export async function finalize(session: Session): Promise<void> {
  const { dialect, settings, info } = session;
  const { oob } = session.connections;
  session.end();
  if (dialect.drains && settings.oobSync && oob) {
    oob.send(Buffer.alloc(MESSAGE_BYTES));
    await session.until(oob.receive(MESSAGE_BYTES));
    return;
  }
  session.postReceive();
  await session.send(new Uint8Array(MESSAGE_BYTES));
  if (info.epAttr.type === 'FI_EP_DGRAM') await resendUntilReceived(session);
  else await session.receive();
}

// A final datagram that arrives before its receive is posted is dropped, on either side. This is
// harmless.
async function resendUntilReceived(session: Session): Promise<void> {
  const received = session.receive().then(() => true);
  received.catch(() => {});
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (await session.until(Promise.race([received, sleep(RESEND, false)]))) return;
    await session.send(new Uint8Array(MESSAGE_BYTES));
  }
}
