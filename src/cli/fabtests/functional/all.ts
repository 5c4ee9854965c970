import { avXfer } from './av-xfer.js';
import { cqData } from './cq-data.js';
import { dgram } from './dgram.js';
import { inject } from './inject.js';
import { multiEp } from './multi-ep.js';
import { multiRecv } from './multi-recv.js';
import { rdm } from './rdm.js';
import { rdmAtomic } from './rdm-atomic.js';
import { multiClient } from './rdm-multi-client.js';
import { taggedPeek } from './rdm-tagged-peek.js';
import { recvCancel } from './recv-cancel.js';
import type { FunctionalTest } from './shared/functional-test.js';
import { unexpectedMsg } from './unexpected-msg.js';

/** The functional tests. */
export const FUNCTIONAL_TESTS: readonly FunctionalTest[] = [
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
