// The properties that console.log() and JSON.stringify() show of each object: one line, whatever the object refers to.
import { AddressVector } from '../address-vector.js';
import { describes } from '../base/describe.js';
import { Peer } from '../base/peer.js';
import { formatSocketAddress } from '../base/socket-address.js';
import { CompletionQueue } from '../completion-queue.js';
import type { AnyInfo } from '../contract/info-types.js';
import { Counter } from '../counter.js';
import { Domain } from '../domain.js';
import { EfaQueries } from '../efa/queries.js';
import { BatchBase } from '../endpoint/batch.js';
import { EndpointBase } from '../endpoint/endpoint.js';
import { Messages } from '../endpoint/messages.js';
import { MultiRecv } from '../endpoint/multi-recv.js';
import { QueuedCalls } from '../endpoint/queued.js';
import { Completion } from '../engine/completion.js';
import { Fabric } from '../fabric.js';
import { Immediates } from '../immediates.js';
import { infoPrototype } from '../info/info.js';
import { MemoryRegion, RegionSlice } from '../memory/memory-region.js';
import { RemoteRegion } from '../memory/remote-region.js';

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

// The same properties that fi_info(1) prints without -v.
describes(
  'Info',
  { prototype: infoPrototype as AnyInfo },
  ({ fabricAttr, domainAttr, epAttr }) => ({
    provider: fabricAttr.provName,
    fabric: fabricAttr.name,
    domain: domainAttr.name,
    version: fabricAttr.provVersion,
    type: epAttr.type,
    protocol: epAttr.protocol,
  }),
);
describes('Fabric', Fabric, ({ name, closed }) => ({ name, closed }));
describes('Domain', Domain, ({ info, driver, closed }) => ({ ...nicOf(info), driver, closed }));
describes('Endpoint', EndpointBase, ({ info, address, closed }) => ({
  ...nicOf(info),
  type: info.epAttr.type,
  address: textOf(address),
  closed,
}));
describes('AddressVector', AddressVector, ({ addrFormat, closed }) => ({ addrFormat, closed }));
describes('CompletionQueue', CompletionQueue, ({ format, size, closed }) => ({
  format,
  size,
  closed,
}));
describes('Counter', Counter, ({ events, closed }) => ({ events, closed }));
describes('Peer', Peer, ({ handle, removed }) => ({ handle, removed }));
describes('MemoryRegion', MemoryRegion, ({ length, access, deviceAccess, closed }) => ({
  length,
  access: access.join(', '),
  deviceAccess,
  closed,
}));
describes('RegionSlice', RegionSlice, ({ offset, length, closed }) => ({ offset, length, closed }));
describes('RemoteRegion', RemoteRegion, ({ length, closed }) => ({ length, closed }));
describes('Batch', BatchBase, ({ size, inFlight, closed }) => ({
  operations: size,
  inFlight,
  closed,
}));
describes('Completion', Completion, ({ length, offset, tag, data, flags, source }) => ({
  length,
  offset: offset > 0 && offset,
  tag: flags.includes('FI_TAGGED') && tag,
  data,
  flags: flags.join(', '),
  source,
}));
describes('Messages', Messages, ({ ended }) => ({ ended }));
describes('MultiRecv', MultiRecv, ({ released }) => ({ released }));
describes('Immediates', Immediates, ({ ended }) => ({ ended }));
describes('Post', QueuedCalls, ({ limits }) => ({
  closed: limits.isClosed || !limits.engine.open,
}));
describes('EfaQueries', EfaQueries, ({ closed }) => ({ closed }));
