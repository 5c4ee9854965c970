import type { AtomicOp, Cap, Datatype, EpType } from '../base/flags.js';
import type { AnyInfo } from '../contract/info-types.js';
import type { Completion } from '../engine/completion.js';
import type { Buffers } from '../engine/memory.js';
import { wasRequested } from '../info/info.js';
import { type AtomicCalls, type AtomicKind, atomicCalls } from './atomic.js';
import { BatchBase } from './batch.js';
import { EndpointBase } from './endpoint.js';
import type { Messages } from './messages.js';
import type { MessagesOptions, MultiRecvOptions } from './messages-options.js';
import { type MsgRecv, type MsgSend, msgRecv, msgSend } from './msg.js';
import type { MultiRecv } from './multi-recv.js';
import { QueuedCalls } from './queued.js';
import { type RmaRead, type RmaWrite, rmaRead, rmaWrite } from './rma.js';
import { type TaggedRecv, type TaggedSend, taggedRecv, taggedSend } from './tagged.js';
import { tracedCalls } from './tracing.js';

/**
 * The data transfer calls of an endpoint of type `T` that was opened with the capabilities `C`. `S`
 * is the return type of sends and RMA, `R` that of receives. An endpoint has only the calls that
 * its type and capabilities allow, both in its TypeScript type and at run time.
 */
export type Calls<T extends EpType, C extends Cap, S, R> = If<
  Sends<C, 'FI_MSG', 'FI_SEND', 'FI_RECV'>,
  MsgSend<S>
> &
  If<Sends<C, 'FI_MSG', 'FI_RECV', 'FI_SEND'>, MsgRecv<R>> &
  (T extends 'FI_EP_DGRAM'
    ? unknown
    : If<Sends<C, 'FI_TAGGED', 'FI_SEND', 'FI_RECV'>, TaggedSend<S>> &
        If<Sends<C, 'FI_TAGGED', 'FI_RECV', 'FI_SEND'>, TaggedRecv<R>> &
        If<Sends<C, 'FI_RMA', 'FI_WRITE', 'FI_READ'>, RmaWrite<S>> &
        If<Sends<C, 'FI_RMA', 'FI_READ', 'FI_WRITE'>, RmaRead<S>> &
        If<Has<C, 'FI_ATOMIC'>, AtomicCalls<S>>);

/** An endpoint of type `T` with the capabilities `C`: fi_endpoint(3). */
export type Endpoint<T extends EpType = EpType, C extends Cap = Cap> = EndpointBase &
  Calls<T, C, Promise<void>, Promise<Completion>> & {
    /**
     * A list of operations with one promise. It can be submitted repeatedly.
     *
     * @throws Error ERR_CLOSED if the endpoint is closed. FabricError FI_ENOMEM.
     */
    batch(): Batch<T, C>;
    /**
     * The calls in the style of C: they return nothing, and their completions are read from the
     * completion queue.
     */
    readonly post: Post<T, C>;
  } & If<Sends<C, 'FI_MSG', 'FI_RECV', 'FI_SEND'>, Receiving> &
  (T extends 'FI_EP_DGRAM'
    ? unknown
    : If<Has<C, 'FI_MULTI_RECV'>, MultiReceiving> & If<Has<C, 'FI_ATOMIC'>, AtomicQuery>);

/** A batch of an endpoint's operations. */
export type Batch<T extends EpType = EpType, C extends Cap = Cap> = BatchBase &
  Calls<T, C, number, number>;

/** The calls of `endpoint.post`, which return nothing. */
export type Post<T extends EpType = EpType, C extends Cap = Cap> = QueuedCalls &
  Calls<T, C, void, void>;

/** The methods of an endpoint that receives messages, besides the calls. */
export interface Receiving {
  /**
   * Incoming messages, as an async iterator that keeps a set of buffers posted.
   *
   * @throws RangeError ERR_OUT_OF_RANGE for the options. Error ERR_CLOSED if the endpoint is
   * closed. Rejections of next(): see Messages.
   */
  messages(options?: MessagesOptions): Messages;
}

/** The methods of an endpoint that was opened with FI_MULTI_RECV. */
export interface MultiReceiving {
  /**
   * Posts a buffer that receives several messages: FI_MULTI_RECV.
   *
   * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE for the buffer. Error
   * ERR_CLOSED if the endpoint is closed. Rejections of next(): see MultiRecv.
   */
  multiRecv(buffer: Buffers, options?: MultiRecvOptions): MultiRecv;
}

/** The methods of an endpoint that was opened with FI_ATOMIC, besides the calls. */
export interface AtomicQuery {
  /**
   * The largest number of elements in one atomic operation: fi_atomicvalid(3),
   * fi_fetch_atomicvalid(3), fi_compare_atomicvalid(3). 0 if the provider does not support the
   * operation.
   *
   * @throws FabricError with another code of fi_atomicvalid(3). TypeError ERR_INVALID_ARG_VALUE.
   * Error ERR_CLOSED.
   */
  atomicValid(kind: AtomicKind, datatype: Datatype, op: AtomicOp): number;
}

type Has<C extends Cap, F extends Cap> = F extends C ? true : false;
type If<Condition, T> = Condition extends true ? T : unknown;
// A capability without a direction modifier covers both directions.
type Sends<C extends Cap, F extends Cap, This extends Cap, Other extends Cap> = F extends C
  ? This extends C
    ? true
    : Other extends C
      ? false
      : true
  : false;

const receiving: Receiving = {
  messages(this: EndpointBase, options?: MessagesOptions) {
    return this.receiveMessages(options);
  },
};

const multiReceiving: MultiReceiving = {
  multiRecv(this: EndpointBase, buffer: Buffers, options?: MultiRecvOptions) {
    return this.postMultiRecv(buffer, options);
  },
};

const atomicQuery: AtomicQuery = {
  atomicValid(this: EndpointBase, kind: AtomicKind, datatype: Datatype, op: AtomicOp) {
    return this.atomicLimit(kind, datatype, op);
  },
};

type Constructor<T> = new (...args: never[]) => T;

/** A subclass with the methods of these sets. */
function withCalls<T>(Base: Constructor<T>, name: string, sets: object[]): Constructor<T> {
  // biome-ignore lint/suspicious/noExplicitAny: TypeScript wants a mixin's arguments to be any[]
  const Composed = class extends (Base as new (...args: any[]) => any) {};
  for (const set of sets) {
    for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(set))) {
      Object.defineProperty(Composed.prototype, key, { ...descriptor, enumerable: false });
    }
  }
  Object.defineProperty(Composed, 'name', { value: name });
  return Composed as unknown as Constructor<T>;
}

const composed = new Map<string, typeof EndpointBase>();

/** The endpoint class of an entry. There is one class for each set of capabilities. */
export function endpointClassOf(info: AnyInfo): typeof EndpointBase {
  const { type } = info.epAttr;
  const caps = new Set<string>(info.caps);
  const has = (cap: Cap, modifier?: Cap) =>
    caps.has(cap) && (modifier === undefined || caps.has(modifier));
  const reliable = type !== 'FI_EP_DGRAM';
  const parts: [boolean, object][] = [
    [has('FI_MSG', 'FI_SEND'), msgSend],
    [has('FI_MSG', 'FI_RECV'), msgRecv],
    [reliable && has('FI_TAGGED', 'FI_SEND'), taggedSend],
    [reliable && has('FI_TAGGED', 'FI_RECV'), taggedRecv],
    [reliable && has('FI_RMA', 'FI_WRITE'), rmaWrite],
    [reliable && has('FI_RMA', 'FI_READ'), rmaRead],
    [reliable && has('FI_ATOMIC'), atomicCalls],
  ];
  const extras: [boolean, object][] = [
    [has('FI_MSG', 'FI_RECV'), receiving],
    [reliable && has('FI_MULTI_RECV') && wasRequested(info, 'FI_MULTI_RECV'), multiReceiving],
    [reliable && has('FI_ATOMIC'), atomicQuery],
  ];
  const key = [...parts, ...extras].map(([there]) => (there ? '1' : '0')).join('');
  let Class = composed.get(key);
  if (Class === undefined) {
    const calls = parts.filter(([there]) => there).map(([, set]) => set);
    const more = extras.filter(([there]) => there).map(([, set]) => set);
    Class = compose(calls, more);
    composed.set(key, Class);
  }
  return Class;
}

function compose(calls: object[], extras: object[]): typeof EndpointBase {
  const BatchClass = withCalls(BatchBase, 'Batch', calls) as typeof BatchBase;
  const QueuedClass = withCalls(QueuedCalls, 'QueuedCalls', calls) as typeof QueuedCalls;
  const traced = calls.map(tracedCalls);
  const Class = withCalls(EndpointBase, 'Endpoint', [...traced, ...extras]) as typeof EndpointBase;
  Object.defineProperties(Class.prototype, {
    batch: {
      value(this: EndpointBase) {
        return this.makeBatch(BatchClass);
      },
    },
    post: {
      get(this: EndpointBase) {
        return this.makeQueued(QueuedClass);
      },
    },
  });
  return Class;
}
