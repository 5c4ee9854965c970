// The streams of this engine, whose tokens peers use.

import { onAbort } from '../../base/abort-signals.js';
import { TimeLimit } from '../../base/time-limit.js';
import { within } from '../../base/wait-options.js';
import type { Access } from '../../diagnostics/transfer-state.js';
import { endedBy } from '../errors.js';
import type { Offering } from '../offering.js';
import { RemoteEngine } from '../remote-engine.js';
import { OfferedDestination } from './destinations.js';
import { inflow } from './inflow.js';
import { OfferedOrigin } from './origins.js';
import { type Flow, outflow } from './outflow.js';
import type { StreamEnd } from './stream-end.js';
import {
  checkIncoming,
  checkOutgoing,
  type IncomingOptions,
  type OutgoingOptions,
} from './stream-options.js';
import { encodeStreamToken } from './stream-token.js';
import type { Streams } from './streams.js';
import { type IncomingFlow, TransferReadable } from './transfer-readable.js';
import { type OutgoingFlow, TransferWritable } from './transfer-writable.js';

/** The bytes that a peer uploads with the token. */
export class IncomingStream extends TransferReadable {
  /** The text that the peer needs for remote.writable() or remote.upload(). */
  readonly token: string;

  /** @internal */
  constructor(token: string, flow: IncomingFlow) {
    super(flow);
    this.token = token;
  }
}

/** The bytes that a peer downloads with the token. */
export class OutgoingStream extends TransferWritable {
  /** The text that the peer needs for remote.download(). */
  readonly token: string;

  /** @internal */
  constructor(token: string, flow: OutgoingFlow) {
    super(flow);
    this.token = token;
  }
}

interface OwnedStream {
  readonly token: string;
  readonly end: StreamEnd;
  readonly flow: Flow;
  /** Resolves when the peer has opened the stream, to the most bytes of a chunk. */
  opened(): Promise<number>;
}

export function incoming(
  engine: Offering,
  streams: Streams,
  options: IncomingOptions,
): IncomingStream {
  const { token, end, flow, opened } = own(engine, streams, 'write', checkIncoming(options));
  return new IncomingStream(token, {
    ...flow,
    run: async (sink) => {
      await opened();
      return inflow(new OfferedOrigin(end, flow), sink, flow);
    },
  });
}

export function outgoing(
  engine: Offering,
  streams: Streams,
  options: OutgoingOptions,
): OutgoingStream {
  const { token, end, flow, opened } = own(engine, streams, 'read', checkOutgoing(options));
  return new OutgoingStream(token, {
    ...flow,
    run: async (source) => {
      const chunk = Math.min(flow.pool.size, await opened());
      return outflow(source, new OfferedDestination(end, chunk), flow);
    },
  });
}

function own(
  { handle, identity, settings }: Offering,
  streams: Streams,
  access: Access,
  { peer, pool = streams.pool, expires, ...limits }: ReturnType<typeof checkIncoming>,
): OwnedStream {
  const to = RemoteEngine.check(access === 'write' ? 'options.from' : 'options.to', peer, handle);
  const { stream, end } = streams.own(to, limits);
  const token = encodeStreamToken(
    {
      access,
      owner: identity,
      grantee: to.identity,
      stream,
      chunk: pool.size,
      expires: Date.now() + Math.ceil(expires),
    },
    settings.secret,
  );
  const expire = () =>
    end.fail(endedBy('expired', 'the token has expired, and the peer has not used it', false));
  const limit = new TimeLimit(expires, expire).unref();
  const stop = () => limit.clear();
  end.opened.then(stop);
  onAbort(end.signal, stop);
  const opened = () => within(end.opened, { signal: end.signal, timeout: undefined }, 'stream');
  return { token, end, flow: end.flow(pool), opened };
}
