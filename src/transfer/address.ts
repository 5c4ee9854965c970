import type { ProcessIdentity } from './same-host.js';
import { seal, unseal, Writer } from './sealed.js';
import { MAX_RAILS } from './settings.js';

/** The identity of an engine, and the addresses at which peers reach it. */
export interface EngineAddress {
  /** The identity of the engine: 64 random bits. */
  readonly id: bigint;
  readonly provider: string;
  /** Whether the engine's NICs check the key of each access. Rails of `path` 'rdma' do. */
  readonly rdma: boolean;
  /** The address of each rail: fi_getname(3). */
  readonly rails: readonly Uint8Array[];
  /** The process of the engine. Undefined if it is unknown. */
  readonly process: ProcessIdentity | undefined;
  /** Whether peers of its host may map its memory. */
  readonly maps: boolean;
}

/** An identity in hexadecimal digits. */
export const identityText = (id: bigint): string => id.toString(16).padStart(16, '0');

export function encodeAddress(address: EngineAddress, secret: string | Uint8Array): string {
  const writer = new Writer().long(address.id).bytes(Buffer.from(address.provider));
  writer.byte(address.rdma ? 1 : 0);
  writer.count(address.rails.length);
  for (const rail of address.rails) writer.bytes(rail);
  writer.byte(address.process === undefined ? 0 : 1);
  if (address.process !== undefined) {
    const { host, pid, thread, started } = address.process;
    writer.long(host).count(pid).count(thread).count(started);
  }
  writer.byte(address.maps ? 1 : 0);
  return seal('address', writer.done(), secret);
}

export function decodeAddress(text: unknown, secret: string | Uint8Array): EngineAddress {
  const reader = unseal('address', text, secret);
  const id = reader.long();
  const provider = Buffer.from(reader.bytes()).toString();
  const rdma = reader.byte() === 1;
  const count = reader.count();
  if (count === 0 || count > MAX_RAILS) throw reader.malformed();
  const rails = Array.from({ length: count }, () => reader.bytes());
  const process =
    reader.byte() === 0
      ? undefined
      : {
          host: reader.long(),
          pid: reader.count(),
          thread: reader.count(),
          started: reader.count(),
        };
  const maps = reader.byte() === 1;
  if (!reader.atEnd || rails.some(({ length }) => length === 0)) throw reader.malformed();
  return { id, provider, rdma, rails, process, maps };
}

/** Whether two addresses are those of one engine. */
export const isSameAddress = (one: EngineAddress, other: EngineAddress): boolean =>
  encodeAddress(one, '') === encodeAddress(other, '');
