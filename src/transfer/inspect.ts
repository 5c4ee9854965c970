// The properties that console.log() and JSON.stringify() show of each object of a transfer engine. Tokens are not
// shown.
import '../diagnostics/inspect.js';
import { describes } from '../base/describe.js';
import { Group } from './group.js';
import { MemoryLease } from './lease.js';
import { Membership } from './membership.js';
import { MemoryPart, TransferMemory } from './memory.js';
import { MemoryPool } from './memory-pool.js';
import { Offer } from './offer.js';
import { RemoteEngine } from './remote-engine.js';
import { IncomingStream, OutgoingStream } from './streams/own-streams.js';
import { TransferReadable } from './streams/transfer-readable.js';
import { TransferWritable } from './streams/transfer-writable.js';
import { type Grant, grantPrototype } from './token.js';
import { Transfer } from './transfer.js';
import { TransferEngine } from './transfer-engine.js';

describes('TransferEngine', TransferEngine, ({ id, provider, rails, closed }) => ({
  id,
  provider,
  rails: rails.length,
  closed,
}));
describes('RemoteEngine', RemoteEngine, ({ id, rails, maps, closed }) => ({
  id,
  rails,
  maps,
  closed,
}));
describes('Membership', Membership, ({ name, peers, closed }) => ({
  name,
  peers: peers.size,
  closed,
}));
describes('TransferMemory', TransferMemory, ({ length, numaNode, closed, region }) => ({
  length,
  numaNode: numaNode ?? undefined,
  closed: closed || region.closed,
}));
describes('MemoryPart', MemoryPart, ({ length, pieces, memory }) => ({
  offset: pieces.length === 2 ? pieces[0] : undefined,
  length,
  pieces: pieces.length === 2 ? undefined : pieces.length / 2,
  closed: memory.closed || memory.region.closed,
}));
describes('MemoryLease', MemoryLease, ({ length, memory, closed }) => ({
  length,
  closed: closed || memory.closed || memory.region.closed,
}));
describes('MemoryPool', MemoryPool, (pool) => ({
  ...pool.state(),
  closed: pool.closed,
}));
describes('Offer', Offer, ({ access, part, to, arrivals, closed }) => ({
  access,
  length: part.length,
  to: to.id,
  arrivals,
  closed,
}));
describes(
  'Grant',
  { prototype: grantPrototype as Grant },
  ({ access, length, expires, repeats }) => ({
    access,
    length,
    expires: new Date(expires).toISOString(),
    repeats,
  }),
);
describes('Transfer', Transfer, ({ access, peer, priority, done, total, ended }) => ({
  access,
  peer: peer.id,
  priority,
  done,
  total,
  ended,
}));
describes('Group', Group, ({ peers }) => ({ peers: peers.map(({ id }) => id).join(', ') }));

const readable = ({ readableEnded, destroyed }: TransferReadable) => ({
  ended: readableEnded,
  destroyed,
});
const writable = ({ writableFinished, destroyed }: TransferWritable) => ({
  finished: writableFinished,
  destroyed,
});
describes('TransferReadable', TransferReadable, readable);
describes('IncomingStream', IncomingStream, readable);
describes('TransferWritable', TransferWritable, writable);
describes('OutgoingStream', OutgoingStream, writable);
