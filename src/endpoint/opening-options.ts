import { AddressVector } from '../address-vector.js';
import { checkNames, checkObject, checkOptions, namesOf } from '../base/checks.js';
import { invalidArgType, invalidArgValue } from '../base/errors.js';
import type { Cap } from '../base/flags.js';
import { isArray } from '../base/objects.js';
import { checkTimeout } from '../base/wait-options.js';
import { CompletionQueue } from '../completion-queue.js';
import { Counter } from '../counter.js';
import { encodeOption, type WritableOptions } from './endpoint-option-values.js';
import type { EndpointOption } from './endpoint-options.js';
import type { Direction } from './queued.js';

/** The options of an endpoint, besides its entry of getInfo(). */
export interface EndpointOptions {
  /** The address vector with the endpoint's peers. */
  readonly av: AddressVector;
  /**
   * The completion queue of all operations. sendQueue and receiveQueue set one for each direction.
   */
  readonly cq?: CompletionQueue;
  readonly sendQueue?: CompletionQueue;
  readonly receiveQueue?: CompletionQueue;
  /**
   * Counters to bind, and the operations that each counts: FI_SEND, FI_RECV, FI_READ, FI_WRITE,
   * FI_REMOTE_*.
   */
  readonly counters?: readonly { readonly counter: Counter; readonly flags: readonly Cap[] }[];
  /**
   * FI_SELECTIVE_COMPLETION of fi_ep_bind(3), for transmits (sends and RMA) or receives. In these
   * directions an operation posted through `endpoint.post` adds an entry to the queue only if its
   * flags contain FI_COMPLETION, or if it fails.
   *
   * Promises and batches settle as usual. The package still requests every completion from the
   * provider, because only a completion proves that the provider no longer uses the operation's
   * memory. So the buffers of operations without an entry are also kept until they complete.
   */
  readonly selectiveCompletion?: readonly Direction[];
  /** Options to set before the endpoint is enabled (fi_setopt). */
  readonly options?: WritableOptions;
  /**
   * The timeout of the endpoint's operations in milliseconds: of each call that returns a promise and
   * has no `timeout` of its own, and of batch.submit() without rounds. An operation that may take
   * longer needs a longer `timeout`. If omitted, operations have no timeout.
   *
   * Streams (messages(), multiRecv()) and the calls of queues, counters and address vectors have
   * their own.
   */
  readonly timeout?: number;
  /**
   * Datagrams: copy through registered memory even if the provider does not require it
   * (FI_MSG_PREFIX, FI_MR_LOCAL).
   */
  readonly staging?: boolean;
}

const NAMES = namesOf<EndpointOptions>({
  av: 1,
  cq: 1,
  sendQueue: 1,
  receiveQueue: 1,
  counters: 1,
  selectiveCompletion: 1,
  options: 1,
  timeout: 1,
  staging: 1,
});
const BOUND_NAMES = ['counter', 'flags'] as const;

/** Checks the options of an endpoint. `native` is what the addon takes. */
export function checkEndpointOptions(options: EndpointOptions) {
  checkNames('options', options, NAMES);
  const { av, cq, sendQueue = cq, receiveQueue = cq, counters = [], staging = false } = options;
  if (!AddressVector.is(av)) throw invalidArgType('options.av', 'an AddressVector', av);
  const queue = (name: string, value: unknown) => {
    if (value === undefined) {
      throw invalidArgValue('options.cq', 'is missing: give cq, or sendQueue and receiveQueue');
    }
    if (!CompletionQueue.is(value)) throw invalidArgType(name, 'a CompletionQueue', value);
    return value;
  };
  const queues = {
    sendQueue: queue(
      options.sendQueue === undefined ? 'options.cq' : 'options.sendQueue',
      sendQueue,
    ),
    receiveQueue: queue(
      options.receiveQueue === undefined ? 'options.cq' : 'options.receiveQueue',
      receiveQueue,
    ),
  };
  if (!isArray(counters)) throw invalidArgType('options.counters', 'an array', counters);
  if (typeof staging !== 'boolean') throw invalidArgType('options.staging', 'a boolean', staging);
  const bound: Counter[] = [];
  return {
    ...queues,
    av,
    timeout: checkTimeout(options.timeout),
    counters: bound,
    native: {
      av: av.bound.handle,
      sendQueue: queues.sendQueue.bound.handle,
      receiveQueue: queues.receiveQueue.bound.handle,
      counters: Array.from(counters, (entry, i) => {
        const name = `options.counters[${i}]`;
        const { counter, flags } = checkOptions(name, entry ?? null, BOUND_NAMES);
        if (!Counter.is(counter)) throw invalidArgType(`${name}.counter`, 'a Counter', counter);
        if (!isArray(flags)) throw invalidArgType(`${name}.flags`, 'an array', flags);
        bound.push(counter);
        return { counter: counter.bound.handle, flags };
      }),
      options: Object.entries(checkObject('options.options', options.options)).map(
        ([name, value]) => encodeOption(name as EndpointOption, value),
      ),
      staging,
    },
  };
}
