import { identityText } from './address.js';
import type { Barriers } from './barriers.js';
import { Channel } from './confirmations.js';
import type { Notification, Notifications } from './notifications.js';
import { Once } from './once.js';
import type { RemoteEngine } from './remote-engine.js';

// If a peer has this many unread messages, it must wait. It may still have one more window in flight.
const ROOM = 4096;
// The most unread messages of one peer that does not wait, and of all senders together that are not peers, because
// this engine cannot make them wait. Others are dropped.
const MAX_UNREAD = 65_536;
// The most senders that are remembered. Their identities are not verified.
const MAX_SENDERS = 65_536;

/** One engine that sends messages. */
class Sender {
  readonly once = { [Channel.Program]: new Once(), [Channel.Group]: new Once() };
  unread = 0;
  /** The numbers of unread messages that are not confirmed to the sender yet. */
  unconfirmed: number[] = [];
}

const isChannel = (value: number): value is keyof Sender['once'] =>
  value === Channel.Program || value === Channel.Group;

/** The messages that arrive at an engine. Each passes once, and is confirmed to its sender when it was taken. */
export class Inbox {
  readonly #senders = new Map<bigint, Sender>();
  readonly #peers: ReadonlyMap<bigint, RemoteEngine>;
  readonly #notifications: Notifications;
  readonly #barriers: Barriers;
  #unreadOfNonPeers = 0;

  constructor(
    peers: ReadonlyMap<bigint, RemoteEngine>,
    notifications: Notifications,
    barriers: Barriers,
  ) {
    this.#peers = peers;
    this.#notifications = notifications;
    this.#barriers = barriers;
  }

  arrived(from: bigint, sequence: number, bytes: Uint8Array, channel: number): void {
    if (!isChannel(channel)) return;
    const sender = this.#senderOf(from);
    if (!sender.once[channel].isNew(sequence)) return;
    const peer = this.#peers.get(from);
    if (channel === Channel.Group) {
      if (peer !== undefined) this.#barriers.arrived(from, bytes);
      peer?.take(channel, sequence);
      return;
    }
    const notification = { bytes, from: peer, id: identityText(from) };
    if (peer === undefined) this.#fromStranger(notification);
    else this.#fromPeer(notification, peer, sender, sequence);
  }

  #fromStranger(notification: Notification): void {
    if (this.#unreadOfNonPeers >= MAX_UNREAD) {
      this.#notifications.drop(MAX_UNREAD);
      return;
    }
    this.#unreadOfNonPeers += 1;
    this.#notifications.arrived(notification, () => {
      this.#unreadOfNonPeers -= 1;
    });
  }

  #fromPeer(
    notification: Notification,
    peer: RemoteEngine,
    sender: Sender,
    sequence: number,
  ): void {
    if (sender.unread >= MAX_UNREAD) {
      this.#notifications.drop(MAX_UNREAD);
      return;
    }
    if (sender.unread < ROOM) peer.take(Channel.Program, sequence);
    else sender.unconfirmed.push(sequence);
    sender.unread += 1;
    this.#notifications.arrived(notification, () => {
      sender.unread -= 1;
      if (sender.unconfirmed.length === 0 || sender.unread > ROOM / 2) return;
      for (const each of sender.unconfirmed) peer.take(Channel.Program, each);
      sender.unconfirmed = [];
    });
  }

  #senderOf(from: bigint): Sender {
    let sender = this.#senders.get(from);
    if (sender === undefined) {
      sender = new Sender();
      this.#senders.set(from, sender);
      const [oldest] = this.#senders.keys();
      if (this.#senders.size > MAX_SENDERS) this.#senders.delete(oldest as bigint);
    }
    return sender;
  }

  /** Whether messages of the engine `from` have arrived. */
  has(from: bigint): boolean {
    return this.#senders.has(from);
  }

  /** Called when a sender becomes a peer. Confirms its messages that have arrived before. */
  known(peer: RemoteEngine): void {
    const sender = this.#senders.get(peer.identity);
    if (sender === undefined) return;
    for (const channel of [Channel.Program, Channel.Group]) {
      for (const sequence of sender.once[channel].seen) peer.take(channel, sequence);
    }
  }
}
