// The messages between the two sides of a probe, over TCP.

/** The version of this protocol. */
export const PROTOCOL = 1;

/** Whether a message over the fabric was delivered, as its sender sees it. */
export interface Delivery {
  readonly kind: DeliveryKind;
  /** `'FI_EHOSTUNREACH'`; null where no error was reported. */
  readonly code: string | null;
  /** efa's own number: a status of the device below 4096. */
  readonly provErrno: number | null;
  readonly message: string | null;
}

const KINDS = [
  'delivered',
  'no-route',
  'unreachable',
  'unresponsive',
  'refused',
  'not-ready',
  'silent',
  'failed',
] as const satisfies readonly DeliveryKind[];

/** Text from another host, made safe for a terminal. */
export const plain = (text: unknown): string =>
  String(text)
    .replaceAll(/\p{Cc}/gu, ' ')
    .slice(0, 300);

/** A delivery as another host reported it. */
export function deliveryIn(value: unknown): Delivery | null {
  if (typeof value !== 'object' || value === null) return null;
  const { kind, code, provErrno, message } = value as Record<keyof Delivery, unknown>;
  return {
    kind: KINDS.find((known) => known === kind) ?? 'failed',
    code: typeof code === 'string' ? plain(code) : null,
    provErrno: typeof provErrno === 'number' ? provErrno : null,
    message: typeof message === 'string' ? plain(message) : null,
  };
}

export type DeliveryKind =
  /** The peer's device has acknowledged it. */
  | 'delivered'
  /** There is no route to the address: the device created no address handle for it. */
  | 'no-route'
  /** The device never received an answer from the peer's device. */
  | 'unreachable'
  /** The peer's device has stopped answering. */
  | 'unresponsive'
  /** The peer's device answers that there is no such endpoint. */
  | 'refused'
  /** The peer's endpoint has no receive posted. */
  | 'not-ready'
  /** Neither a completion nor an error arrived in time. */
  | 'silent'
  /** Any other error. */
  | 'failed';

export type Message =
  | { readonly kind: 'hello'; readonly protocol: number; readonly domains: readonly string[] }
  /** Client: open an endpoint on your domain number `nic` (modulo theirs) for mine. */
  | {
      readonly kind: 'try';
      readonly nic: number;
      readonly address: string;
      readonly seconds: number;
    }
  | { readonly kind: 'ready'; readonly domain: string; readonly address: string }
  | { readonly kind: 'failed'; readonly message: string }
  /** Client: the delivery of my message. */
  | { readonly kind: 'sent'; readonly delivery: Delivery }
  /** Server: whether the message arrived, and the delivery of the answer. */
  | {
      readonly kind: 'received';
      readonly arrived: boolean;
      readonly answer: Delivery | null;
    };

export const encode = (address: Uint8Array): string => Buffer.from(address).toString('base64');
export const decode = (address: unknown): Uint8Array => Buffer.from(String(address), 'base64');
