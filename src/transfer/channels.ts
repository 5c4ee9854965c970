// The events of transfers on node:diagnostics_channel. Without a subscriber, an event costs one check of
// `hasSubscribers`.
import { type Channel, channel } from 'node:diagnostics_channel';
import type { TraceEvent } from '../base/trace.js';
import type { Arrival } from './arrival.js';
import type { FallbackEvent, PeerEvent, RailErrorEvent, RailEvent } from './engine-events.js';
import type { Offer } from './offer.js';
import type { TransferTraceMessage } from './tracing.js';
import type { TransferEngine } from './transfer-engine.js';

/** The engine that the messages name. It is made after its parts, which publish them. */
export interface Owner {
  engine: TransferEngine;
}

/** `libfabric:offer:open`: memory was offered. */
export interface OfferMessage {
  readonly engine: TransferEngine;
  readonly offer: Offer;
}

/** `libfabric:offer:arrived`: the peer has written or read every byte. */
export interface OfferArrivedMessage extends OfferMessage {
  readonly arrival: Arrival;
}

/** `libfabric:offer:released`: no copy can arrive any more, and the keys are void. */
export interface OfferReleasedMessage extends OfferMessage {
  /** The error, if nothing has arrived. */
  readonly error?: unknown;
}

/** `libfabric:rail`: the state of a rail has changed. */
export interface RailMessage extends RailEvent {
  readonly engine: TransferEngine;
}

/** `libfabric:peer`: the state of a peer has changed. */
export interface PeerMessage extends PeerEvent {
  readonly engine: TransferEngine;
}

/** `libfabric:rail:error`: the provider has reported an error that belongs to no transfer. */
export interface RailErrorMessage extends RailErrorEvent {
  readonly engine: TransferEngine;
}

/** `libfabric:fallback`: the machine has no EFA, and an engine uses another provider. */
export interface FallbackMessage extends FallbackEvent {
  readonly engine: TransferEngine;
}

/** The channels of transfer engines and their messages. */
export interface TransferMessages
  extends Record<`tracing:libfabric:transfer:${TraceEvent}`, TransferTraceMessage> {
  'libfabric:offer:open': OfferMessage;
  'libfabric:offer:arrived': OfferArrivedMessage;
  'libfabric:offer:released': OfferReleasedMessage;
  'libfabric:rail': RailMessage;
  'libfabric:peer': PeerMessage;
  'libfabric:rail:error': RailErrorMessage;
  'libfabric:fallback': FallbackMessage;
}

const typed = <N extends keyof TransferMessages>(name: N) =>
  channel(name) as Channel<unknown, TransferMessages[N]>;

export const offerOpen = typed('libfabric:offer:open');
export const offerArrived = typed('libfabric:offer:arrived');
export const offerReleased = typed('libfabric:offer:released');
export const peerChanged = typed('libfabric:peer');
export const railChanged = typed('libfabric:rail');
export const railError = typed('libfabric:rail:error');
export const fellBack = typed('libfabric:fallback');
