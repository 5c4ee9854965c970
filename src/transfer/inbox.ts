import { identityText } from './address.js';
import type { Barriers } from './barriers.js';
import { byChannel, CHANNELS, Channel } from './confirmations.js';
import { EarlyBarriers } from './early-barriers.js';
import { Arrived, type Notifications } from './notifications.js';
import { Once } from './once.js';
import { messagesOf } from './packet.js';
import type { RemoteEngine } from './remote-engine.js';
import type { Streams } from './streams/streams.js';
import { UnknownSenders } from './unknown-senders.js';

// If a peer has this many unread messages, it must wait. It may still have one more window in flight.
const ROOM = 4096;
// The most unread messages of one peer that does not wait, and of all senders together that are not peers, because
// this engine cannot make them wait. Others are dropped.
const MAX_UNREAD = 65_536;
// The most senders that are remembered. Their identities are not verified.
const MAX_SENDERS = 65_536;

/** One engine that sends messages. */
class Sender {
  readonly once = byChannel(() => new Once());
  readonly name: string;
  unread = 0;
  /** The numbers of packets that are not confirmed to the sender yet. */
  unconfirmed: number[] = [];

  constructor(identity: bigint) {
    this.name = identityText(identity);
  }
}

/** A packet that has arrived for the first time. */
interface Packet {
  readonly from: bigint;
  readonly sender: Sender;
  readonly sequence: number;
  readonly channel: Channel;
  readonly messages: readonly Uint8Array[];
}

const isChannel = (value: number): value is Channel => CHANNELS.includes(value as Channel);

/** The packets that arrive at an engine. Each passes once, and is confirmed to its sender when it was taken. */
export class Inbox {
  readonly #senders = new Map<bigint, Sender>();
  readonly #peers: ReadonlyMap<bigint, RemoteEngine>;
  readonly #notifications: Notifications;
  readonly #barriers: Barriers;
  readonly #earlyBarriers = new EarlyBarriers();
  readonly #streams: Streams;
  readonly #unknown: UnknownSenders<Packet>;
  #unreadOfNonPeers = 0;

  /** @param look asks the directories for members that are no peers yet. Undefined if there is none. */
  constructor(
    peers: ReadonlyMap<bigint, RemoteEngine>,
    notifications: Notifications,
    barriers: Barriers,
    streams: Streams,
    look: () => Promise<unknown> | undefined,
  ) {
    this.#unknown = new UnknownSenders(look, (packet) => {
      this.#unreadOfNonPeers -= packet.messages.length;
      this.#pass(packet);
    });
    this.#peers = peers;
    this.#notifications = notifications;
    this.#barriers = barriers;
    this.#streams = streams;
  }

  arrived(from: bigint, sequence: number, packet: Uint8Array, channel: number): void {
    const messages = messagesOf(packet);
    if (messages === undefined || !isChannel(channel)) return;
    const sender = this.#senderOf(from);
    if (!sender.once[channel].isNew(sequence)) return;
    if (this.#peers.has(from)) this.#pass({ from, sender, sequence, channel, messages });
    else this.#arrivedFromStranger({ from, sender, sequence, channel, messages });
  }

  #arrivedFromStranger(packet: Packet): void {
    const isOfProgram = packet.channel === Channel.Program;
    if (!isOfProgram && this.#unreadOfNonPeers >= MAX_UNREAD) return;
    const messages = isOfProgram
      ? this.#fitting(packet.messages, this.#unreadOfNonPeers)
      : packet.messages;
    if (messages.length === 0) return;
    const kept = { ...packet, messages };
    if (this.#unknown.hold(packet.from, kept)) this.#unreadOfNonPeers += messages.length;
    else this.#pass(kept);
  }

  /** The messages that may be kept beside those that are unread. Drops the others. */
  #fitting(messages: readonly Uint8Array[], unread: number): readonly Uint8Array[] {
    const room = Math.max(MAX_UNREAD - unread, 0);
    if (messages.length <= room) return messages;
    this.#notifications.drop(messages.length - room, MAX_UNREAD);
    return messages.slice(0, room);
  }

  #pass({ from, sender, sequence, channel, messages }: Packet): void {
    const peer = this.#peers.get(from);
    if (channel !== Channel.Program) {
      if (peer === undefined) {
        if (channel === Channel.Stream) this.#streams.arrivedFromStranger(from, messages);
        else this.#earlyBarriers.add(from, messages);
        return;
      }
      for (const bytes of messages) {
        if (channel === Channel.Group) this.#barriers.arrived(from, bytes);
        else this.#streams.arrived(peer, bytes);
      }
      peer.take(channel, sequence);
      return;
    }
    if (peer === undefined) this.#fromStranger(messages, sender);
    else this.#fromPeer(messages, peer, sender, sequence);
  }

  #fromStranger(messages: readonly Uint8Array[], sender: Sender): void {
    this.#unreadOfNonPeers += messages.length;
    const wasRead = () => {
      this.#unreadOfNonPeers -= 1;
    };
    for (const bytes of messages) {
      this.#notifications.arrived(new Arrived(bytes, undefined, sender.name, wasRead));
    }
  }

  #fromPeer(
    arrived: readonly Uint8Array[],
    peer: RemoteEngine,
    sender: Sender,
    sequence: number,
  ): void {
    const messages = this.#fitting(arrived, sender.unread);
    if (messages.length === 0) return;
    if (sender.unread < ROOM) peer.take(Channel.Program, sequence);
    else sender.unconfirmed.push(sequence);
    sender.unread += messages.length;
    const wasRead = () => {
      sender.unread -= 1;
      if (sender.unconfirmed.length === 0 || sender.unread > ROOM / 2) return;
      for (const each of sender.unconfirmed) peer.take(Channel.Program, each);
      sender.unconfirmed = [];
    };
    for (const bytes of messages) {
      this.#notifications.arrived(new Arrived(bytes, peer, sender.name, wasRead));
    }
  }

  #senderOf(from: bigint): Sender {
    let sender = this.#senders.get(from);
    if (sender === undefined) {
      sender = new Sender(from);
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

  /** Called when a sender becomes a peer. Confirms its packets that have arrived before. */
  known(peer: RemoteEngine): void {
    const { identity } = peer;
    for (const name of this.#earlyBarriers.take(identity)) this.#barriers.arrived(identity, name);
    this.#unknown.known(identity);
    const sender = this.#senders.get(identity);
    if (sender === undefined) return;
    for (const channel of CHANNELS) {
      for (const sequence of sender.once[channel].seen) peer.take(channel, sequence);
    }
  }
}
