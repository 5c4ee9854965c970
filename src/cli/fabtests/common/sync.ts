// ft_sync(): a barrier between both sides.
import type { Info } from '../../../contract/info-types.js';
import type { Dialect } from './dialect.js';
import type { OobSocket } from './oob.js';
import { SYNC } from './proof.js';

/** The parts of a session that synchronization uses. */
export interface SyncSession {
  readonly role: 'client' | 'server';
  readonly info: Info;
  readonly dialect: Dialect;
  send(bytes: Uint8Array): Promise<void>;
  receive(seconds?: number): Promise<Uint8Array>;
  until<T>(promise: Promise<T>, seconds?: number): Promise<T>;
}

/** Synchronizes over the fabric. */
export async function syncInBand(session: SyncSession, seconds?: number): Promise<void> {
  const message = new Uint8Array(syncBytes(session));
  if (session.role === 'client') {
    await session.send(message);
    await session.receive(seconds);
  } else {
    await session.receive(seconds);
    await session.send(message);
  }
}

// shm (1.17) never delivers an empty message with delivery-complete semantics.
function syncBytes({ info, dialect }: SyncSession): number {
  const { fabricAttr, txAttr } = info;
  const refused = fabricAttr.provName === 'shm' && txAttr.opFlags.includes('FI_DELIVERY_COMPLETE');
  return refused ? 1 : dialect.syncBytes;
}

/** Synchronizes over the out-of-band connection: -b. */
export async function syncOutOfBand(
  session: SyncSession,
  oob: OobSocket,
  seconds?: number,
): Promise<void> {
  if (session.role === 'client') {
    oob.send(SYNC);
    await session.until(oob.receive(1), seconds);
  } else {
    await session.until(oob.receive(1), seconds);
    oob.send(SYNC);
  }
}
