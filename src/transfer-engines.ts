import type { TransferEngine } from './transfer/transfer-engine.js';

/** The open transfer engines of this thread, in the order in which they were opened. */
export const transferEngines = new Set<TransferEngine>();
