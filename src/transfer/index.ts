/**
 * Moves memory between machines over all their NICs.
 *
 * @module
 */
export { TransferError } from './errors.js';
export type { Group, GroupPart } from './group.js';
export type { Note } from './notes.js';
export type { Arrival, Offer, OfferOptions } from './offer.js';
export type { Pages, Pieces } from './pieces.js';
export type { Part, Place } from './place.js';
export type { RailState } from './rails.js';
export type { RemoteEngine } from './remote-engine.js';
export type { TransferEngineOptions } from './settings.js';
export type { Access, Grant, RailKey, TokenContent } from './token.js';
export type {
  Progress,
  RailReport,
  Transfer,
  TransferOptions,
  TransferReport,
} from './transfer.js';
export { TransferEngine } from './transfer-engine.js';
