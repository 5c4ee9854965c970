import type { Timeouts } from '../base/timeouts.js';
import type { Handle } from '../contract/native.js';
import type { Access } from '../diagnostics/transfer-state.js';
import type { Activity } from './activity.js';
import type { Admission, Priority } from './admission.js';
import type { MemoryPart } from './memory.js';
import type { NativeEvents } from './native-events.js';
import type { RemoteEngine } from './remote-engine.js';
import type { Transfer } from './transfer.js';

/** The parameters of a transfer, and the parts of its engine. Its repetitions have the same. */
export interface Course {
  readonly access: Access;
  readonly peer: RemoteEngine;
  /** The local memory. */
  readonly part: MemoryPart;
  readonly priority: Priority;
  /** Bytes. */
  readonly total: number;
  /** The number of local rails. */
  readonly rails: number;
  readonly events: NativeEvents;
  readonly activity: Activity;
  readonly admission: Admission;
  readonly timeouts: Timeouts<Transfer>;
  /** Starts a native transfer, or one that has ended again. */
  start(ended: Handle<'Transfer'> | undefined): {
    readonly handle: Handle<'Transfer'>;
    readonly id: number;
  };
  /** Tells the peer why a transfer that has not started does not start. Ends the offer, unless another transfer has used it. */
  refuse(status: number): void;
}
