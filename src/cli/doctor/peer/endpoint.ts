import { setTimeout as sleep } from 'node:timers/promises';
import { FabricError } from '../../../base/errors.js';
import type { Peer } from '../../../base/peer.js';
import type { Endpoint } from '../../../endpoint/compose.js';
import { open } from '../../../open.js';
import type { Delivery, DeliveryKind } from './messages.js';

const PROBE_MESSAGE = Buffer.from('libfabric doctor');
const CLOSING = 100; // milliseconds for operations in flight

// efa's numbers for a failed operation: the device's status, or one of the provider's own.
const KINDS: Readonly<Record<number, DeliveryKind>> = {
  4: 'no-route', // invalid address handle
  9: 'refused', // no such queue pair
  10: 'not-ready',
  13: 'unresponsive',
  14: 'refused', // the peer reports an unknown peer
  15: 'unreachable',
  4110: 'no-route', // the address vector rejected the address
  4124: 'unresponsive',
  4126: 'unreachable', // the device was reached, but no handshake arrived
};

const DELIVERED: Delivery = { kind: 'delivered', code: null, provErrno: null, message: null };
const SILENT: Delivery = { ...DELIVERED, kind: 'silent' };

/** An endpoint that exchanges one message with another, over the device even within a host. */
export class ProbeEndpoint {
  readonly #ep: Endpoint<'FI_EP_RDM', 'FI_MSG'>;
  readonly #arrival: Promise<boolean>;

  private constructor(ep: Endpoint<'FI_EP_RDM', 'FI_MSG'>) {
    this.#ep = ep;
    this.#arrival = ep.recv(new Uint8Array(64)).then(
      () => true,
      () => false,
    );
  }

  static async open(domain: string): Promise<ProbeEndpoint> {
    return new ProbeEndpoint(await open({ provider: 'efa', domain }));
  }

  get address(): Uint8Array {
    return this.#ep.address;
  }

  /** Sends a message. Resolves to its delivery, at the latest after this time or when aborted. */
  async send(address: Uint8Array, milliseconds: number, signal: AbortSignal): Promise<Delivery> {
    let peer: Peer;
    try {
      peer = this.#ep.av.insert(address);
    } catch (error) {
      return deliveryOf(error, 'no-route');
    }
    const sent = this.#ep.send(PROBE_MESSAGE, peer).then(
      () => DELIVERED,
      (error: unknown) => deliveryOf(error, 'failed'),
    );
    return within(sent, milliseconds, signal, SILENT);
  }

  /** Whether a message arrives within this many milliseconds and before the signal aborts. */
  arrived(milliseconds: number, signal: AbortSignal): Promise<boolean> {
    return within(this.#arrival, milliseconds, signal, false);
  }

  close(): Promise<void> {
    return this.#ep.close({ timeout: CLOSING });
  }
}

function deliveryOf(error: unknown, otherwise: DeliveryKind): Delivery {
  if (!FabricError.is(error)) throw error;
  const { code, provErrno = null, message } = error;
  return { kind: KINDS[provErrno ?? -1] ?? otherwise, code, provErrno, message };
}

async function within<T>(
  promise: Promise<T>,
  milliseconds: number,
  signal: AbortSignal,
  late: T,
): Promise<T> {
  const settled = new AbortController();
  const limit = AbortSignal.any([signal, settled.signal]);
  const deadline = sleep(milliseconds, late, { signal: limit }).catch(() => late);
  return Promise.race([promise, deadline]).finally(() => settled.abort());
}
