// Transfers on tracingChannel('libfabric:transfer') of node:diagnostics_channel.
import { tracingChannel } from 'node:diagnostics_channel';
import type { Trace, TraceMessage } from '../base/trace.js';
import type { Access } from '../diagnostics/transfer-state.js';
import type { TransferReport } from './report.js';
import type { Transfer } from './transfer.js';
import type { TransferEngine } from './transfer-engine.js';

/** `tracingChannel('libfabric:transfer')`: one object for all events of a transfer. */
export interface TransferTraceMessage extends TraceMessage<TransferReport> {
  readonly engine: TransferEngine;
  readonly transfer: Transfer;
  readonly access: Access;
  /** The identity of the peer's engine, in hexadecimal digits. */
  readonly peer: string;
  /** The bytes to transfer. */
  readonly bytes: number;
}

export type TransferTrace = Trace<TransferReport, TransferTraceMessage>;

export const tracedTransfers = tracingChannel<TransferTraceMessage, TransferTraceMessage>(
  'libfabric:transfer',
);
