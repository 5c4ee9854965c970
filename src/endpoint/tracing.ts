// Operations on tracingChannel('libfabric:operation') of node:diagnostics_channel.
import { tracingChannel } from 'node:diagnostics_channel';
import { types } from 'node:util';
import { cancellable } from '../base/cancellation.js';
import { Peer } from '../base/peer.js';
import { Trace, type TraceMessage } from '../base/trace.js';
import { isBufferView, lengthOf, sizeOf } from '../base/views.js';
import type { Completion } from '../engine/completion.js';
import { RegisteredBytes } from '../engine/memory.js';
import type { EndpointBase } from './endpoint.js';

type Call = (this: EndpointBase, ...args: unknown[]) => Promise<Completion | undefined>;

/** `tracingChannel('libfabric:operation')`: one object for all events of an operation. */
export interface OperationTraceMessage extends TraceMessage<Completion | undefined> {
  readonly endpoint: EndpointBase;
  /** The name of the call, such as `'send'`. */
  readonly call: string;
  /** The peer, or the source of a receive. Undefined for a receive from any peer. */
  readonly peer: Peer | undefined;
  /** The bytes of the first argument: a buffer or an array of buffers. */
  readonly bytes: number;
}

const operations = tracingChannel<OperationTraceMessage, OperationTraceMessage>(
  'libfabric:operation',
);

/** The calls of an endpoint, which publish their events if anyone subscribes. */
export function tracedCalls(calls: object): object {
  const entries = Object.entries(calls as Record<string, Call>);
  return Object.fromEntries(entries.map(([name, call]) => [name, tracedCall(name, call)]));
}

// Without subscribers, this costs a send or a receive with a promise at most 7 ns of 285 (Node.js 20), and it allocates
// nothing.
function tracedCall(name: string, call: Call): Call {
  const traced: Call = function (...args) {
    return operations.hasSubscribers ? trace(this, name, call, ...args) : call.apply(this, args);
  };
  return Object.defineProperties(traced, { name: { value: name }, length: { value: call.length } });
}

// The call itself runs outside of Node's functions, because the stacks of its errors start at the first frame that is not
// the package's.
function trace(endpoint: EndpointBase, name: string, call: Call, ...args: unknown[]) {
  const peer = args.find(Peer.is);
  const message = { endpoint, call: name, peer, bytes: bytesOf(args[0]) };
  const trace = new Trace<Completion | undefined, OperationTraceMessage>(operations, message);
  const promise = call.apply(endpoint, args);
  trace.returned();
  return cancellable(() =>
    promise.then(
      (result) => {
        trace.succeeded(result);
        return result;
      },
      (error) => {
        trace.failed(error);
        throw error;
      },
    ),
  );
}

function bytesOf(argument: unknown): number {
  if (!Array.isArray(argument)) return bytesOfOne(argument);
  return argument.reduce((sum, each) => sum + bytesOfOne(each), 0);
}

function bytesOfOne(buffer: unknown): number {
  if (RegisteredBytes.is(buffer)) return buffer.length;
  if (isBufferView(buffer)) return lengthOf(buffer);
  return types.isAnyArrayBuffer(buffer) ? sizeOf(buffer) : 0;
}
