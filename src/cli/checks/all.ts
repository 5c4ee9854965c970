import { avXfer } from './av-xfer.js';
import type { Check } from './check.js';
import { cqData } from './cq-data.js';
import { dgram, rdm } from './greeting.js';
import { inject } from './inject.js';
import { multiClient } from './multi-client.js';
import { multiEp } from './multi-ep.js';
import { multiRecv } from './multi-recv.js';
import { rdmAtomic } from './rdm-atomic.js';
import { recvCancel } from './recv-cancel.js';
import { taggedPeek } from './tagged-peek.js';
import { unexpectedMsg } from './unexpected-msg.js';

/** The functional checks. */
export const CHECKS: readonly Check[] = [
  rdm,
  dgram,
  cqData,
  multiRecv,
  rdmAtomic,
  taggedPeek,
  recvCancel,
  unexpectedMsg,
  avXfer,
  multiEp,
  multiClient,
  inject,
];
