import { checkInteger, checkOptions, oneOf } from '../checks.js';
import { errnoByCode, type FabricErrorCode } from '../error-codes.js';
import { closed, invalidState } from '../errors.js';
import { ANY, Knob, KnobsPage, RULE_BYTES, RULES, RuleField } from './knobs.js';
import { capabilityMask, type SoftefaCapability, type SoftefaOptions } from './options.js';
import { placeOf } from './place.js';

/** What applies to every operation of a namespace from now on. What is left out stays as it is. */
export interface Conditions {
  /** Operations start up to so many microseconds later. */
  readonly reorder?: number;
  /** Operations start so many microseconds later. */
  readonly delay?: number;
  /** Of a thousand packets that are lost: datagrams for good, others are sent again. */
  readonly drop?: number;
  /** Of every random choice of the processes that join from now on. */
  readonly seed?: number;
  /** All that is left of what the devices can do. */
  readonly capabilities?: readonly SoftefaCapability[];
}

/** What goes wrong. */
export type FaultKind =
  /** Operations to the peer complete with status `value`. */
  | 'status'
  /** Sends to the peer find no receive posted. */
  | 'rnr'
  /** The peer is silent: operations to it wait, then time out. */
  | 'freeze'
  /** The peer's host is gone: operations to it fail at once. */
  | 'kill'
  /** The port is down, and up again when the fault is removed. */
  | 'portDown'
  /** Polling a completion queue finds it overrun. */
  | 'cqOverrun'
  /** Registrations fail with errno `value`. */
  | 'registration'
  /** A slow link: operations of the device and to it start `value` microseconds later. */
  | 'delay';

const KINDS: readonly FaultKind[] = [
  'status',
  'rnr',
  'freeze',
  'kill',
  'portDown',
  'cqOverrun',
  'registration',
  'delay',
];

/** Where and how often a fault strikes. */
export interface FaultOptions {
  /** Host; any when left out, together with nic. */
  readonly node?: number;
  /** Device of that host; 0 when only node is given. */
  readonly nic?: number;
  /** Queue pair; any when left out. */
  readonly qpn?: number;
  /** How often; without end when left out. */
  readonly count?: number;
  /** The device's status of an operation, a registration's error, or microseconds. */
  readonly value?: number | FabricErrorCode;
}

/** A fault that is under way. */
export interface Fault extends Disposable {
  /** How often it has struck. */
  readonly hits: number;
  /** How often it will strike yet; Infinity where there is no end. */
  readonly left: number;
  /** Ends the fault. */
  remove(): void;
}

/**
 * Steers the software EFA devices of a namespace while they run, from any process of the same user.
 * Faults last until they are removed, used up, or closed.
 */
export class SoftefaFaults {
  readonly #page: KnobsPage;
  #open = true;

  constructor(options?: Pick<SoftefaOptions, 'namespace' | 'directory'>) {
    this.#page = new KnobsPage(...placeOf(options));
  }

  /**
   * How many work requests devices have taken from queues that their users filled by themselves: the
   * `direct` of their options.
   */
  get directRequests(): bigint {
    this.#checkOpen();
    return this.#page.read64(Knob.Fetched64);
  }

  /** Changes what applies to every operation. */
  set(conditions: Conditions): void {
    this.#checkOpen();
    const { reorder, delay, drop, seed, capabilities } = checkOptions('conditions', conditions);
    const microseconds = (name: string, value: number) => checkInteger(name, value, 0, 60_000_000);
    const page = this.#page;
    if (reorder !== undefined) page.write(Knob.ReorderUs, microseconds('reorder', reorder));
    if (delay !== undefined) page.write(Knob.DelayUs, microseconds('delay', delay));
    if (drop !== undefined) page.write(Knob.DropPerMille, checkInteger('drop', drop, 0, 1000));
    if (seed !== undefined) page.write64(Knob.Seed64, BigInt(checkInteger('seed', seed, 1)));
    if (capabilities !== undefined) {
      // 0 stands for all: a bit that no device has stands for none.
      const mask = capabilityMask('capabilities', capabilities) | 0x8000_0000;
      page.write(Knob.Capabilities, mask >>> 0);
    }
    page.write(Knob.Engaged, 1);
  }

  /** Starts a fault. */
  add(kind: FaultKind, options?: FaultOptions): Fault {
    this.#checkOpen();
    const code = KINDS.indexOf(oneOf('kind', kind, KINDS)) + 1;
    const { node, nic, qpn, count, value } = checkOptions('options', options);
    const anywhere = node === undefined && nic === undefined;
    const device =
      checkInteger('options.node', node ?? 0, 0, 0xfffe) * 0x1_0000 +
      checkInteger('options.nic', nic ?? 0, 0, 63);
    const fields = {
      nic: anywhere ? ANY : device,
      qpn: qpn === undefined ? ANY : checkInteger('options.qpn', qpn, 0, 0xffff),
      count: count === undefined ? ANY : checkInteger('options.count', count, 1, ANY - 1),
      value: typeof value === 'string' ? errnoByCode[value] : (value ?? 0),
    };
    const page = this.#page;
    const at = this.#freeRule();
    page.write(at + RuleField.Nic, fields.nic);
    page.write(at + RuleField.Qpn, fields.qpn);
    page.write(at + RuleField.Count, fields.count);
    page.write(at + RuleField.Value, checkInteger('options.value', fields.value, 0, ANY));
    page.write(at + RuleField.Hits, 0);
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

  /** Ends all faults and conditions, whoever has set them. */
  clear(): void {
    this.#checkOpen();
    const page = this.#page;
    page.write(Knob.Engaged, 0);
    for (const knob of [Knob.Capabilities, Knob.ReorderUs, Knob.DelayUs, Knob.DropPerMille]) {
      page.write(knob, 0);
    }
    page.write64(Knob.Seed64, 0n);
    for (let i = 0; i < RULES; i++) page.write(Knob.Rules + i * RULE_BYTES + RuleField.Fault, 0);
  }

  /** Ends all faults and lets go of the namespace. */
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
  readonly #page: KnobsPage;
  readonly #at: number;
  // What was known when it was removed: its place may have another tenant by then.
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
