import { native } from '../contract/native.js';
import type { NetStreamCounts } from '../contract/native-net.js';
import type { NetSessionState, NetSocketState, NetWait } from '../diagnostics/net-state.js';
import { addressesOf } from './peer-info.js';
import type { Session } from './session.js';
import { Mode } from './stream.js';

/** The most sockets in a dump. */
const MAX_SOCKETS = 1000;

export function stateOf(session: Session, nics: NetSessionState['nics']): NetSessionState {
  const { remoteAddress, remotePort } = addressesOf(session.control);
  const { unacknowledged, streams } = native.netCounts(session.handle);
  const sockets = native.netStreams(session.handle, 0).slice(0, MAX_SOCKETS);
  return {
    number: session.number,
    remoteAddress: remoteAddress ?? null,
    remotePort: remotePort ?? null,
    path: session.path,
    control: session.controlState,
    fallback: session.fallback?.message ?? null,
    nics,
    unacknowledged,
    socketCount: streams,
    sockets: sockets.map((counts) => socketState(session, counts)),
  };
}

/** What a socket waits for. */
export function socketStateOf(session: Session, stream: number): NetSocketState | undefined {
  const [counts] = native.netStreams(session.handle, stream);
  return counts && socketState(session, counts);
}

function socketState(session: Session, counts: NetStreamCounts): NetSocketState {
  const { mode, unsent, window, unread } = counts;
  return {
    mode: mode === Mode.Messages ? 'messages' : 'bytes',
    waitsFor: waitOf(session, counts),
    unsent,
    window,
    unread,
  };
}

function waitOf(session: Session, { unsent, window, unread }: NetStreamCounts): NetWait {
  if (unsent > 0 && window === 0) return 'window';
  if (unsent > 0) return native.netCounts(session.handle).waitsForPeer ? 'credits' : 'nic';
  return unread > 0 ? 'reader' : null;
}
