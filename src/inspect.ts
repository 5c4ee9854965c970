// What console.log() prints of each object: one line, whatever the object refers to.
import { type InspectOptions, inspect } from 'node:util';
import { AddressVector } from './address-vector.js';
import { BatchBase } from './batch.js';
import { Completion } from './completion.js';
import { CompletionQueue } from './completion-queue.js';
import { Counter } from './counter.js';
import { Domain } from './domain.js';
import { EfaQueries } from './efa-queries.js';
import { EndpointBase } from './endpoint/endpoint.js';
import { Messages } from './endpoint/messages.js';
import { MultiRecv } from './endpoint/multi-recv.js';
import { QueuedCalls } from './endpoint/queued.js';
import { Fabric } from './fabric.js';
import { Immediates } from './immediates.js';
import type { AnyInfo } from './info-types.js';
import { MemoryRegion, RegionSlice } from './memory-region.js';
import { Peer } from './peer.js';
import { RemoteRegion } from './remote-region.js';
import { formatSocketAddress } from './socket-address.js';

type Fields = Readonly<Record<string, unknown>>;
type Class<T> = { readonly prototype: T };

/** Sets what console.log() prints of a class's objects: `Peer { handle: 1 }`. */
function prints<T extends object>(
  name: string,
  { prototype }: Class<T>,
  fieldsOf: (object: T) => Fields,
) {
  Object.defineProperty(prototype, inspect.custom, {
    value(this: T, depth: number, options: InspectOptions) {
      if (depth < 0) return `[${name}]`;
      return `${name} ${inspect(
        fieldsOrNone(() => fieldsOf(this)),
        { ...options, ...ONE_LINE },
      )}`;
    },
  });
}

const ONE_LINE = { breakLength: Number.POSITIVE_INFINITY, compact: true, depth: 1 } as const;

// `closed` and `removed` appear only if they are true. A prototype, or an object that only inherits
// from one, has no fields to read.
function fieldsOrNone(read: () => Fields): Fields {
  try {
    const own = Object.entries(read());
    return Object.fromEntries(own.filter(([, value]) => value !== undefined && value !== false));
  } catch {
    return {};
  }
}

const nicOf = ({ fabricAttr, domainAttr }: AnyInfo) => ({
  provider: fabricAttr.provName,
  domain: domainAttr.name,
});

const MOST_BYTES = 16;

function textOf(address: Uint8Array): string {
  const text = formatSocketAddress(address);
  if (text !== undefined) return text;
  const [, printable] = /^([\x20-\x7e]+)\0*$/.exec(Buffer.from(address).toString('latin1')) ?? [];
  if (printable !== undefined) return printable;
  const hex = Buffer.from(address.subarray(0, MOST_BYTES)).toString('hex');
  return address.length > MOST_BYTES ? `${hex}...` : hex;
}

prints('Fabric', Fabric, ({ name, closed }) => ({ name, closed }));
prints('Domain', Domain, ({ info, driver, closed }) => ({ ...nicOf(info), driver, closed }));
prints('Endpoint', EndpointBase, ({ info, address, closed }) => ({
  ...nicOf(info),
  type: info.epAttr.type,
  address: textOf(address),
  closed,
}));
prints('AddressVector', AddressVector, ({ addrFormat, closed }) => ({ addrFormat, closed }));
prints('CompletionQueue', CompletionQueue, ({ format, size, closed }) => ({
  format,
  size,
  closed,
}));
prints('Counter', Counter, ({ events, closed }) => ({ events, closed }));
prints('Peer', Peer, ({ handle, removed }) => ({ handle, removed }));
prints('MemoryRegion', MemoryRegion, ({ length, access, deviceAccess, key, closed }) => ({
  length,
  access: access.join(', '),
  ...(deviceAccess !== undefined && { deviceAccess }),
  key,
  closed,
}));
prints('RegionSlice', RegionSlice, ({ offset, length, closed }) => ({ offset, length, closed }));
prints('RemoteRegion', RemoteRegion, ({ length, key, closed }) => ({ length, key, closed }));
prints('Batch', BatchBase, ({ size, inFlight }) => ({ operations: size, inFlight }));
prints('Completion', Completion, ({ length, offset, tag, data, flags, source }) => ({
  length,
  ...(offset > 0 && { offset }),
  ...(flags.includes('FI_TAGGED') && { tag }),
  data,
  flags: flags.join(', '),
  source,
}));
prints('Messages', Messages, () => ({}));
prints('MultiRecv', MultiRecv, ({ released }) => ({ released }));
prints('Immediates', Immediates, () => ({}));
prints('Post', QueuedCalls, () => ({}));
prints('EfaQueries', EfaQueries, () => ({}));
