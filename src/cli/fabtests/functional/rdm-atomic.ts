import { Option } from 'commander';
import type { RegionSlice } from '../../../memory/memory-region.js';
import type { RemoteRegion } from '../../../memory/remote-region.js';
import type { Buffers } from '../common/buffers.js';
import { finalize } from '../common/finalize.js';
import { TestMemory } from '../common/memory.js';
import { exchangeKeys } from '../common/rma.js';
import type { Session, TestBatch } from '../common/session.js';
import {
  type AtomicOperation,
  type AtomicType,
  FABTESTS_START,
  OPERATIONS,
  outcomeOf,
  START,
  type Start,
  TYPES,
} from './shared/atomic-reference.js';
import { awaiting, NotOffered, TestFailure } from './shared/failure.js';
import type { FunctionalTest } from './shared/functional-test.js';
import { DELIVERY_COMPLETE, ITERATIONS, SIZE, VERIFY } from './shared/options.js';
import { PerfLines } from './shared/perf-lines.js';
import type { TestSide } from './shared/test-side.js';

// Operations between checks for Ctrl-C and the peer's end.
const YIELD_EVERY = 256;
const LARGEST = 32; // bytes of an element

const shortName = (type: AtomicType) => type.datatype.slice('FI_'.length).toLowerCase();
const choices = (names: readonly string[]) => ['all', ...names];

interface Own {
  readonly op?: string;
  readonly datatype?: string;
}

/** fabtests' rdm_atomic: atomic operations on the peer's memory. */
export const rdmAtomic: FunctionalTest<Own> = {
  command: 'rdm-atomic',
  type: 'FI_EP_RDM',
  iterations: 1000,
  summary: 'atomic operations on remote memory',
  description:
    "Both sides run atomic operations on an element in each other's memory, one at a time, for every operation " +
    'and type that the provider supports. With -v the results are compared with the expected results.',
  options: [
    new Option('-o, --op <op>', 'operation (default: all)').choices(
      choices(OPERATIONS.map(({ name }) => name)),
    ),
    new Option('-z, --datatype <type>', 'type of the element (default: all)').choices(
      choices(TYPES.map(shortName)),
    ),
    SIZE,
    ITERATIONS,
    new Option(VERIFY.flags, 'compare the results'),
    DELIVERY_COMPLETE,
  ],
  run,
};

async function run(side: TestSide<Own>): Promise<string> {
  const { op = 'all', datatype = 'all' } = side.own;
  const operations = OPERATIONS.filter(({ name }) => op === 'all' || name === op);
  const types = TYPES.filter((type) => datatype === 'all' || shortName(type) === datatype);
  const session = await side.open({ caps: ['FI_MSG', 'FI_ATOMIC'] });
  const pairwise = syncsPairs(side, session);
  const work = await Work.prepare(side, session);
  let done = 0;
  for (const operation of operations) {
    if (!pairwise) await awaiting(`a sync before ${operation.op}`, session.sync());
    for (const type of types) {
      if (work.offers(operation, type)) {
        await work.run(operation, type);
        done++;
      } else {
        const call = operation.kind === 'atomic' ? 'base' : operation.kind;
        side.warn(
          `Provider doesn't support ${operation.op} ${call} atomic operation on ${type.datatype}`,
        );
      }
      if (pairwise) await awaiting(`a sync after ${operation.op}`, session.sync());
    }
  }
  await awaiting('a sync after the operations', session.sync());
  await awaiting('the end of the peer', finalize(session));
  if (done === 0) throw new NotOffered('the provider has none of these operations');
  const pairs = `${done} pairs of operation and type, ${side.iterations} times each,`;
  if (!side.settings.verify) return `${pairs} completed (-v compares the results too)`;
  const left = done - work.compared;
  const uncompared = left > 0 ? ` (${left} have types that cannot be compared here)` : '';
  return `${pairs} came to the right results${uncompared}`;
}

// Since fabtests 2.0 both sides synchronize after every pair of operation and type.
function syncsPairs(side: TestSide<Own>, { samePackage, dialect }: Session): boolean {
  const pairwise = !samePackage && dialect.release >= 200;
  if (side.settings.verify && !samePackage && !pairwise) {
    throw new NotOffered('-v: fabtests before 2.0 do not verify; leave it out');
  }
  return pairwise;
}

const viewOf = (bytes: Uint8Array) =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** The memory of the operations, and the operations themselves. */
class Work {
  /** Pairs whose results were compared. */
  compared = 0;
  readonly #side: TestSide<Own>;
  readonly #session: Session;
  readonly #buffers: Buffers;
  readonly #remote: RemoteRegion;
  /** The fetched element, followed by the compare operand. */
  readonly #results: TestMemory;
  readonly #perf: PerfLines;
  readonly #start: Start;

  private constructor(
    side: TestSide<Own>,
    session: Session,
    buffers: Buffers,
    remote: RemoteRegion,
    results: TestMemory,
  ) {
    this.#side = side;
    this.#session = session;
    this.#buffers = buffers;
    this.#remote = remote;
    this.#results = results;
    this.#perf = new PerfLines(side);
    this.#start = session.samePackage ? START : FABTESTS_START;
  }

  static async prepare(side: TestSide<Own>, session: Session): Promise<Work> {
    const rights = ['FI_READ', 'FI_WRITE', 'FI_REMOTE_READ', 'FI_REMOTE_WRITE'] as const;
    const buffers = await session.allocate(LARGEST, 1, ['FI_SEND', 'FI_RECV', ...rights]);
    const { deviceMemory } = session.settings;
    const access = ['FI_READ', 'FI_WRITE'] as const;
    const results = await TestMemory.allocate(session.domain, LARGEST * 2, access, deviceMemory);
    const keys = exchangeKeys(session, buffers);
    const remote = await awaiting('an exchange of memory keys', keys);
    return new Work(side, session, buffers, remote, results);
  }

  offers({ kind, op }: AtomicOperation, { datatype }: AtomicType): boolean {
    return this.#session.ep.atomicValid(kind, datatype, op) > 0;
  }

  async run(operation: AtomicOperation, type: AtomicType): Promise<void> {
    const { verify: verifies } = this.#side.settings;
    const { iterations } = this.#side;
    const what = `${operation.op} of ${type.datatype}`;
    // fabtests verify every result; this package verifies the result after all iterations.
    const [rounds, times] =
      verifies && !this.#session.samePackage ? [iterations, 1] : [1, iterations];
    const batch = this.#batch(operation, type);
    let seconds = 0;
    for (let round = 0; round < rounds; round++) {
      if (verifies) {
        this.#begin(type);
        await awaiting(`a sync before ${what}`, this.#session.sync());
      }
      seconds += await this.#repeat(batch, times, what);
      if (verifies) {
        await awaiting(`a sync after ${what}`, this.#session.sync());
        this.#compare(operation, type, what, times);
      }
    }
    batch.close(); // after an error it closes with the endpoint
    if (verifies && type.numbers) this.compared++;
    const call = operation.kind === 'atomic' ? 'base' : operation.kind;
    const perf = { size: type.size, iterations, seconds, transfersPerIteration: 1 };
    this.#perf.tell(perf, `${type.datatype}_${operation.op}_${call}_lat`);
  }

  async #repeat(batch: TestBatch, times: number, what: string): Promise<number> {
    const session = this.#session;
    const start = performance.now();
    for (let i = 0; i < times; i++) {
      await awaiting(`the completion of ${what}, number ${i + 1}`, session.complete(batch));
      if (i % YIELD_EVERY === 0) await session.waiter.yieldToEvents();
    }
    return (performance.now() - start) / 1000;
  }

  #batch({ kind, op }: AtomicOperation, { datatype, size }: AtomicType) {
    const { peer } = this.#session;
    const remote = this.#remote;
    const { operand, result, compare } = this.#parts(size);
    const options = { datatype, op };
    return this.#session.batch((b) => {
      if (kind === 'atomic') b.atomic(operand, peer, remote, options);
      else if (kind === 'fetch') b.fetchAtomic(operand, result, peer, remote, options);
      else b.compareAtomic(operand, compare, result, peer, remote, options);
    });
  }

  #parts(size: number) {
    return {
      target: this.#buffers.receiving(size),
      operand: this.#buffers.sending(size),
      result: this.#results.region.slice(0, size),
      compare: this.#results.region.slice(LARGEST, LARGEST + size),
    };
  }

  #begin({ size, numbers, fortyEight }: AtomicType): void {
    const { target, operand, compare, result } = this.#parts(size);
    const element = (value: number) => {
      const bytes = fortyEight?.slice() ?? new Uint8Array(size);
      numbers?.write(viewOf(bytes), value);
      return bytes;
    };
    const { memory } = this.#buffers;
    memory.write(target, element(this.#start.target));
    memory.write(operand, element(this.#start.operand));
    this.#results.write(compare, element(this.#start.compare));
    this.#results.clear(result);
  }

  #compare(operation: AtomicOperation, type: AtomicType, what: string, times: number): void {
    const expected = outcomeOf(operation, type, this.#start, times);
    const { numbers } = type;
    if (expected === undefined || numbers === undefined) return;
    const parts = this.#parts(type.size);
    const read = (memory: TestMemory, part: RegionSlice) => numbers.read(viewOf(memory.read(part)));
    const compare = (of: string, want: number | bigint, found: number | bigint) => {
      if (want === found) return;
      throw new TestFailure(
        `${want} ${of} ${what}${times === 1 ? '' : `, ${times} times`}`,
        `${found}`,
        'whether both sides have the same -I; otherwise check the provider: its result differs from fi_atomic(3)',
      );
    };
    compare('in the target of', expected.target, read(this.#buffers.memory, parts.target));
    if (operation.kind === 'atomic') return;
    const fetched = read(this.#results, parts.result);
    compare('as what was there before the last', expected.fetched, fetched);
  }
}
