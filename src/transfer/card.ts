import type { ProcessIdentity } from './same-host.js';
import { seal, unseal, Writer } from './sealed.js';
import { MAX_RAILS } from './settings.js';

/** The identity of an engine and how to reach it. */
export interface Card {
  /** The identity of the engine: 64 random bits. */
  readonly id: bigint;
  readonly provider: string;
  /** Whether its NICs check the key of each access: rails of `path` 'rdma'. */
  readonly rdma: boolean;
  /** The address of each rail: fi_getname(3). */
  readonly addresses: readonly Uint8Array[];
  /** Its process, if peers of its host may map its memory. */
  readonly process: ProcessIdentity | undefined;
}

/** An identity in hexadecimal digits. */
export const identityText = (id: bigint): string => id.toString(16).padStart(16, '0');

export function encodeCard(card: Card, secret: string | Uint8Array): string {
  const writer = new Writer().long(card.id).bytes(Buffer.from(card.provider));
  writer.byte(card.rdma ? 1 : 0);
  writer.count(card.addresses.length);
  for (const address of card.addresses) writer.bytes(address);
  writer.byte(card.process === undefined ? 0 : 1);
  if (card.process !== undefined) {
    const { host, pid, started } = card.process;
    writer.long(host).count(pid).count(started);
  }
  return seal('card', writer.done(), secret);
}

export function decodeCard(text: unknown, secret: string | Uint8Array): Card {
  const reader = unseal('card', text, secret);
  const id = reader.long();
  const provider = Buffer.from(reader.bytes()).toString();
  const rdma = reader.byte() === 1;
  const count = reader.count();
  if (count === 0 || count > MAX_RAILS) throw reader.malformed();
  const addresses = Array.from({ length: count }, () => reader.bytes());
  const process =
    reader.byte() === 0
      ? undefined
      : { host: reader.long(), pid: reader.count(), started: reader.count() };
  if (!reader.atEnd || addresses.some(({ length }) => length === 0)) throw reader.malformed();
  return { id, provider, rdma, addresses, process };
}
