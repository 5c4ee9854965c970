import { checkInteger, checkMilliseconds, checkOptions, namesOf, oneOf } from '../base/checks.js';
import { describes, uncloneable } from '../base/describe.js';
import { errnoByCode, type FabricErrorCode } from '../base/error-codes.js';
import { closed, invalidState } from '../base/errors.js';
import { ANY, Knob, KnobsPage, RULE_BYTES, RULES, RuleField } from './knobs.js';
import { namespaceOf } from './namespace.js';
import { capabilityMask, type SoftefaCapability, type SoftefaOptions } from './options.js';

const OF_FAULT = uncloneable('a Fault belongs to its SoftefaFaults: send its { hits, left }');
const UNCLONEABLE = uncloneable('a SoftefaFaults belongs to its thread: make another one there');

/** Conditions for every operation of a namespace from now on. Omitted ones stay as they are. */
export interface Conditions {
  /** Operations start up to this many milliseconds later. Fractions are allowed. */
  readonly reorder?: number;
  /** Operations start this many milliseconds later. Fractions are allowed. */
  readonly delay?: number;
  /**
   * The number of packets in a thousand that are dropped. Dropped datagrams are not sent again;
   * other packets are.
   */
  readonly drop?: number;
  /** The number of datagrams in a thousand that arrive twice. Other packets arrive exactly once. */
  readonly duplicate?: number;
  /** The seed of every random choice of endpoints that are opened from now on. */
  readonly seed?: number;
  /** The capabilities that the devices keep. All others are removed. */
  readonly capabilities?: readonly SoftefaCapability[];
}

const CONDITIONS = namesOf<Conditions>({
  reorder: 1,
  delay: 1,
  drop: 1,
  duplicate: 1,
  seed: 1,
  capabilities: 1,
});

const CONDITION_KNOBS = [
  Knob.Capabilities,
  Knob.ReorderUs,
  Knob.DelayUs,
  Knob.DropPerMille,
  Knob.DuplicatePerMille,
];

/** A kind of fault. */
export type FaultKind =
  /** Operations to the peer complete with status `value`. */
  | 'status'
  /** Sends to the peer find no receive posted. */
  | 'rnr'
  /** The peer does not answer: operations to it wait, then time out. */
  | 'freeze'
  /** The peer's host is down: operations to it fail at once. */
  | 'kill'
  /** The port is down until the fault is removed. */
  | 'portDown'
  /** Polling a completion queue reports an overrun. */
  | 'cqOverrun'
  /** Registrations fail with errno `value`. */
  | 'registration'
  /** A slow link: operations from and to the device start `value` milliseconds later. */
  | 'delay'
  /** A narrow link: the device carries `value` megabytes (10^6) per second in each direction. */
  | 'rate'
  /**
   * Calls that create protection domains, completion queues and queue pairs fail with errno
   * `value`.
   */
  | 'creation'
  /** Posts of sends, reads and writes fail with errno `value`: ENOMEM is a full queue. */
  | 'post'
  /** Posts of receives fail with errno `value`. */
  | 'receive'
  /**
   * Calls that create address handles fail with errno `value`. efa crashes if it cannot create its
   * own one while an endpoint opens (libfabric 1.17), so spare these calls: `after`.
   */
  | 'addressHandle'
  /** Polls of completion queues fail with errno `value`. The completions stay in their queues. */
  | 'poll'
  /**
   * Opening a device fails with errno `value`, and so do queries of devices, ports, GIDs and address
   * handles.
   */
  | 'query'
  /** Calls that change the state of queue pairs (ibv_modify_qp) fail with errno `value`. */
  | 'modify';

const KINDS: readonly FaultKind[] = [
  'status',
  'rnr',
  'freeze',
  'kill',
  'portDown',
  'cqOverrun',
  'registration',
  'delay',
  'rate',
  'creation',
  'post',
  'receive',
  'addressHandle',
  'poll',
  'query',
  'modify',
];

/** Where a fault applies, and how often it occurs. */
export interface FaultOptions {
  /** The host. If node and nic are omitted, any host. */
  readonly node?: number;
  /** The device of that host. 0 if only node is given. */
  readonly nic?: number;
  /** The queue pair. If omitted, any. */
  readonly qpn?: number;
  /** How often the fault occurs. If omitted, until it is removed. */
  readonly count?: number;
  /** How many calls or operations the fault spares before it first occurs. If omitted, 0. */
  readonly after?: number;
  /**
   * The device's completion status, the errno of a call, milliseconds, or megabytes per second.
   */
  readonly value?: number | FabricErrorCode;
}

const MAX_DELAY = 60_000; // ms
const microsecondsOf = (name: string, milliseconds: number) =>
  Math.round(checkMilliseconds(name, milliseconds, 0, MAX_DELAY) * 1000);

function numberOf(kind: FaultKind, value: FaultOptions['value'] = 0) {
  if (typeof value === 'string') return errnoByCode[value];
  return kind === 'delay' ? microsecondsOf('options.value', value) : value;
}

const FAULT_NAMES = namesOf<FaultOptions>({
  node: 1,
  nic: 1,
  qpn: 1,
  count: 1,
  after: 1,
  value: 1,
});

/** An active fault. */
export interface Fault extends Disposable {
  /** How often the fault has occurred. */
  readonly hits: number;
  /** How often it can still occur. Infinity without a count. */
  readonly left: number;
  /** Removes the fault. */
  remove(): void;
}

/**
 * Controls the software EFA devices of a namespace at run time, from any process of the same user.
 * A fault lasts until it is removed or used up, or until close().
 *
 * @throws Error ERR_CLOSED from every call after close(), ERR_ADDON_NOT_FOUND if softefa is not
 * installed, and system errors such as EACCES from the constructor.
 */
export class SoftefaFaults {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  readonly #page: KnobsPage;
  #open = true;

  constructor(options?: Pick<SoftefaOptions, 'namespace' | 'directory'>) {
    this.#page = new KnobsPage(...namespaceOf(options));
  }

  /**
   * The number of work requests that devices have taken from queues that the provider fills itself
   * (`direct` in SoftefaOptions).
   */
  get directRequests(): bigint {
    this.#checkOpen();
    return this.#page.read64(Knob.Fetched64);
  }

  /** Whether close() was called. */
  get closed(): boolean {
    return !this.#open;
  }

  /**
   * Changes the conditions of every operation.
   *
   * @throws TypeError ERR_INVALID_ARG_TYPE or ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE.
   */
  set(conditions: Conditions): void {
    this.#checkOpen();
    const { reorder, delay, drop, duplicate, seed, capabilities } = checkOptions(
      'conditions',
      conditions,
      CONDITIONS,
    );
    const perMille = (name: string, value: number) => checkInteger(name, value, 0, 1000);
    const page = this.#page;
    if (reorder !== undefined) page.write(Knob.ReorderUs, microsecondsOf('reorder', reorder));
    if (delay !== undefined) page.write(Knob.DelayUs, microsecondsOf('delay', delay));
    if (drop !== undefined) page.write(Knob.DropPerMille, perMille('drop', drop));
    if (duplicate !== undefined) {
      page.write(Knob.DuplicatePerMille, perMille('duplicate', duplicate));
    }
    if (seed !== undefined) page.write64(Knob.Seed64, BigInt(checkInteger('seed', seed, 1)));
    if (capabilities !== undefined) {
      // 0 means all. A bit that no device has makes an empty set nonzero.
      const mask = capabilityMask('capabilities', capabilities) | 0x8000_0000;
      page.write(Knob.Capabilities, mask >>> 0);
    }
    page.write(Knob.Engaged, 1);
  }

  /**
   * Starts a fault.
   *
   * @throws TypeError ERR_INVALID_ARG_VALUE, RangeError ERR_OUT_OF_RANGE. Error ERR_INVALID_STATE
   * if the namespace has 32 faults already.
   */
  add(kind: FaultKind, options?: FaultOptions): Fault {
    this.#checkOpen();
    const code = KINDS.indexOf(oneOf('kind', kind, KINDS)) + 1;
    const { node, nic, qpn, count, after, value } = checkOptions('options', options, FAULT_NAMES);
    const anywhere = node === undefined && nic === undefined;
    const device =
      checkInteger('options.node', node ?? 0, 0, 0xfffe) * 0x1_0000 +
      checkInteger('options.nic', nic ?? 0, 0, 63);
    const fields = {
      nic: anywhere ? ANY : device,
      qpn: qpn === undefined ? ANY : checkInteger('options.qpn', qpn, 0, 0xffff),
      count: count === undefined ? ANY : checkInteger('options.count', count, 1, ANY - 1),
      value: numberOf(kind, value),
    };
    const page = this.#page;
    const at = this.#freeRule();
    page.write(at + RuleField.Nic, fields.nic);
    page.write(at + RuleField.Qpn, fields.qpn);
    page.write(at + RuleField.Count, fields.count);
    page.write(at + RuleField.Value, checkInteger('options.value', fields.value, 0, ANY));
    page.write(at + RuleField.Hits, 0);
    page.write(at + RuleField.After, checkInteger('options.after', after ?? 0, 0, ANY - 1));
    page.write(at + RuleField.Fault, code);
    page.write(Knob.Engaged, 1);
    return new Rule(page, at);
  }

  #freeRule(): number {
    for (let i = 0; i < RULES; i++) {
      const at = Knob.Rules + i * RULE_BYTES;
      if (this.#page.read(at + RuleField.Fault) === 0) return at;
    }
    throw invalidState(`there are ${RULES} faults already`);
  }

  /**
   * Ends all faults and conditions of the namespace, including those of other processes.
   *
   * @throws Error ERR_CLOSED after close().
   */
  clear(): void {
    this.#checkOpen();
    const page = this.#page;
    page.write(Knob.Engaged, 0);
    for (const knob of CONDITION_KNOBS) page.write(knob, 0);
    page.write64(Knob.Seed64, 0n);
    for (let i = 0; i < RULES; i++) page.write(Knob.Rules + i * RULE_BYTES + RuleField.Fault, 0);
  }

  /** Ends all faults and leaves the namespace. */
  close(): void {
    if (!this.#open) return;
    this.clear();
    this.#open = false;
    this.#page.close();
  }

  /** Ends it: `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  #checkOpen(): void {
    if (!this.#open) throw closed('the faults of softefa');
  }
}

class Rule implements Fault {
  readonly uncloneable = OF_FAULT;
  readonly #page: KnobsPage;
  readonly #at: number;
  // The counts at its removal. Another fault may use its slot afterwards.
  #ended: { hits: number; left: number } | undefined;

  constructor(page: KnobsPage, at: number) {
    this.#page = page;
    this.#at = at;
  }

  get hits(): number {
    return this.#ended?.hits ?? this.#page.read(this.#at + RuleField.Hits);
  }

  get left(): number {
    if (this.#ended) return this.#ended.left;
    const count = this.#page.read(this.#at + RuleField.Count);
    return count === ANY ? Number.POSITIVE_INFINITY : count;
  }

  remove(): void {
    if (this.#ended) return;
    this.#page.write(this.#at + RuleField.Fault, 0);
    this.#ended = { hits: this.hits, left: 0 };
  }

  /** Ends it: `using`. */
  [Symbol.dispose](): void {
    this.remove();
  }
}

describes('SoftefaFaults', SoftefaFaults, ({ closed }) => ({ closed }));
describes('Fault', Rule, ({ hits, left }) => ({ hits, left }));
