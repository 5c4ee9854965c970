// What a transfer engine consists of, and how it is opened and closed.

import { randomBytes } from 'node:crypto';
import { withoutContext } from '../base/async-context.js';
import { MAX_MILLISECONDS } from '../base/checks.js';
import { Timeouts } from '../base/timeouts.js';
import { type Handle, native } from '../contract/native.js';
import { Activity } from './activity.js';
import { encodeAddress } from './address.js';
import { Queue } from './admission.js';
import { Announcer } from './announcer.js';
import { Barriers } from './barriers.js';
import type { Owner } from './channels.js';
import { Counted } from './counted.js';
import { ENGINE_CLOSED, peerLost } from './errors.js';
import { Inbox } from './inbox.js';
import { LIVENESS, Liveness, type PeerState } from './liveness.js';
import { Mail } from './mail.js';
import { lookForMembers, type Membership } from './membership.js';
import type { TransferMemory } from './memory.js';
import type { MemoryPool } from './memory-pool.js';
import { NativeEvents } from './native-events.js';
import { Notifications } from './notifications.js';
import type { Offering } from './offering.js';
import { Taken } from './outbox.js';
import { Peers } from './peers.js';
import { type Rail, statesOf } from './rails.js';
import type { RemoteEngine } from './remote-engine.js';
import { thisProcess } from './same-host.js';
import type { Settings } from './settings.js';
import { Streams } from './streams/streams.js';
import { STUCK, StuckRails } from './stuck-rails.js';
import type { Transfer } from './transfer.js';

// The part of `liveness` after which a provider that completes nothing is stuck. Peers are lost later.
const MUTE_PART = 0.4;

/** The parts of a transfer engine. */
export interface EngineParts {
  readonly settings: Settings;
  readonly rails: readonly Rail[];
  readonly handle: Handle<'TransferEngine'>;
  readonly identity: bigint;
  /** The text that peers need for engine.peer(). */
  readonly address: string;
  /** The provider of the rails. */
  readonly provider: string;
  /** Whether peers of this host map the memory that the engine allocates. */
  readonly maps: boolean;
  readonly events: NativeEvents;
  readonly notifications: Notifications;
  readonly barriers: Barriers;
  readonly mail: Mail;
  readonly streams: Streams;
  readonly queue: Queue;
  readonly liveness: Liveness;
  readonly peers: Map<bigint, RemoteEngine>;
  readonly meeting: Peers;
  readonly memories: Set<TransferMemory>;
  readonly pools: Set<MemoryPool>;
  readonly memberships: Set<Membership>;
  readonly offering: Offering;
  readonly activity: Activity;
  readonly timeouts: Timeouts<Transfer>;
  readonly announcer: Announcer;
  /** Counts the flushes of the native side that have ended. */
  readonly flushes: Counted;
  readonly owner: Owner;
  isOpen: boolean;
}

/** Opens an engine over rails that are open. The caller closes them if this throws. */
export function openParts(settings: Settings, rails: readonly Rail[]): EngineParts {
  const identity = randomBytes(8).readBigUInt64LE();
  const peers = new Map<bigint, RemoteEngine>();
  const owner = {} as Owner;
  const flushes = new Counted();
  const queue = new Queue(settings.maxTransfers);
  const events = new NativeEvents({
    idle: (idle) => native.transferRef(handle, !idle),
    flushed: () => flushes.add(),
    notification: (from, sequence, bytes, channel) => inbox.arrived(from, sequence, bytes, channel),
    taken: (from, status, numbers, channel) => {
      if (status === Taken.Closed) peerLeft(parts, from);
      else mail.taken(from, status, numbers, channel);
    },
    cut: (from, error) => {
      const peer = meeting.with(from);
      if (peer === undefined) return;
      if (error === undefined) liveness.reached(peer);
      else liveness.cut(peer, error);
    },
    heard: (from) => {
      const peer = meeting.with(from);
      if (peer !== undefined) liveness.back(peer);
    },
    rail: (index, state, reason, peer) =>
      announcer.railChanged(index, rails[index] as Rail, state, reason, peers.get(peer)),
  });
  const notifications = new Notifications(events.waiting);
  const barriers = new Barriers(events.waiting);
  const streams: Streams = new Streams(
    events.waiting,
    (options) => owner.engine.pool(options),
    (identity): RemoteEngine | undefined =>
      parts.isOpen ? parts.meeting.again(identity) : undefined,
  );
  const inbox = new Inbox(peers, notifications, barriers, streams, () => lookForMembers(parts));
  const activity = new Activity(owner, queue, events, notifications);
  const handle = withoutContext(() =>
    native.transferEngine(identity, settings.native, events.deliver),
  );
  const mail = new Mail(handle, events, (identity) => peers.has(identity));
  const announcer = new Announcer(owner, () => statesOf(handle, rails));
  const liveness = new Liveness(settings.liveness, {
    deaf: () => native.transferRegisters(handle),
    blocked: (passed) => {
      stuck.check(passed);
      return stuck.reason;
    },
    heard: (peer) => native.transferHeard(peer.handle),
    probe: (peer) => native.transferProbe(handle, peer.handle),
    change: (peer, state, reason) => peerChanged(parts, peer, state, reason),
  });
  const stuck = new StuckRails({
    rails,
    limit: MUTE_PART * Math.min(settings.liveness, LIVENESS),
    sent: () => native.transferRails(handle).map(({ sent }) => sent),
    isAnyMissed: () => [...peers.values()].some((peer) => peer.isMissed),
    changed: (index, rail) => {
      // Calls that need the rail's thread then wait for 0.1 s, not for 10 s.
      if (rail.stuck === STUCK) native.domainOverdue(rail.handle, MAX_MILLISECONDS);
      announcer.railStuck(index, rail);
    },
  });
  beginRails(handle, rails, announcer);

  const provider = rails[0]?.info.fabricAttr.provName ?? '';
  const rdma = rails.every(({ path }) => path === 'rdma');
  const maps = settings.mapMemory ?? !(settings.require === 'rdma' || /efa/.test(provider));
  const { secret } = settings;
  const isOpen = () => parts.isOpen;
  const timeouts = new Timeouts<Transfer>((transfer) => transfer.expired(), false);
  const context = {
    handle,
    id: identity,
    secret,
    events,
    queue,
    timeouts,
    activity,
    mail,
    streams,
    liveness,
    isOpen,
  };
  const meeting = new Peers(peers, {
    context,
    rails,
    inbox,
    barriers,
    maps,
    rdma,
    full: (error) => announcer.full(error),
  });
  const parts: EngineParts = {
    settings,
    rails,
    handle,
    identity,
    address: encodeAddress(
      {
        id: identity,
        provider,
        rdma,
        rails: rails.map(({ endpoint }) => endpoint.address),
        process: thisProcess(),
        maps,
      },
      secret,
    ),
    provider,
    maps,
    events,
    notifications,
    barriers,
    mail,
    streams,
    queue,
    liveness,
    peers,
    meeting,
    memories: new Set(),
    pools: new Set(),
    memberships: new Set(),
    offering: { handle, identity, settings, rails, events, activity },
    activity,
    timeouts,
    announcer,
    flushes,
    owner,
    isOpen: true,
  };
  return parts;
}

function beginRails(
  engine: Handle<'TransferEngine'>,
  rails: readonly Rail[],
  announcer: Announcer,
): void {
  for (const [index, { handle, endpoint, numaNode }] of rails.entries()) {
    native.transferRail(engine, handle, endpoint.handle, numaNode ?? -1);
    endpoint.receiveQueue.onError = (error) => announcer.railFailed(index, error);
  }
  native.transferBegin(engine);
}

function peerChanged(
  parts: EngineParts,
  peer: RemoteEngine,
  state: PeerState,
  reason: string,
): void {
  const isNew = peer.changed(state, reason);
  if (state === 'lost') endAllWith(parts, peer, reason);
  if (state !== 'connected') native.transferMiss(parts.handle, peer.handle);
  if (isNew) parts.announcer.peerChanged(peer, reason);
}

// Ends everything that is open with a peer that is lost. What was opened with a lost peer ends later than the peer became
// lost.
function endAllWith(parts: EngineParts, peer: RemoteEngine, reason: string): void {
  const { handle, events, mail, queue, barriers, streams, peers } = parts;
  const detail = `the peer is lost: ${reason}`;
  native.transferLose(handle, peer.handle, peer.hasEnded, detail);
  queue.lost(peer, reason);
  streams.lost(peer, () => peerLost(reason, true));
  for (const offer of events.offers.values()) offer.lost(peer, reason);
  if ((peers.get(peer.identity) ?? peer) !== peer) return; // it was closed, and opened again
  mail.lost(peer.identity, detail);
  barriers.left(peer.identity, () => peerLost(reason, true));
}

// A peer says that its engine closes.
function peerLeft(
  { peers, mail, barriers, streams, announcer }: EngineParts,
  identity: bigint,
): void {
  const peer = peers.get(identity);
  if (peer === undefined) return;
  peer.left(ENGINE_CLOSED);
  mail.left(identity);
  barriers.left(identity, () => peer.absent());
  streams.lost(peer, () => peer.absent());
  announcer.peerChanged(peer, ENGINE_CLOSED);
  for (const holder of [...peer.holders]) holder.left?.(peer);
}
