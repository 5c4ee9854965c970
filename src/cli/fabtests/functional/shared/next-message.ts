import type { Completion } from '../../../../engine/completion.js';
import type { RegionSlice } from '../../../../memory/memory-region.js';
import type { Session } from '../../common/session.js';

/** Sends the next message. */
export function sendNext(session: Session, bytes: RegionSlice): Promise<void> {
  const { ep, peer, tagged } = session;
  const tag = session.sent++;
  return tagged ? ep.tsend(bytes, peer, tag) : ep.send(bytes, peer);
}

/** Posts a receive of the next message. */
export function receiveNext(session: Session, into: RegionSlice): Promise<Completion> {
  const { ep, tagged } = session;
  const tag = session.received++;
  const posted = tagged ? ep.trecv(into, null, tag) : ep.recv(into);
  posted.catch(() => {}); // if no message arrives, it rejects when the endpoint closes
  session.domain.progress();
  return posted;
}
