// The programs whose calls fail. Each opens its objects, moves bytes, checks them, and closes everything, also
// after a failure.
import assert from 'node:assert/strict';
import { open } from 'libfabric';
import { TransferEngine } from 'libfabric/transfer';

const LIMIT = 5000; // ms

/** The bytes of a message. Each message has other bytes. */
function bytesOf(length, seed) {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + seed * 7 + (i >> 8)) & 255;
  return bytes;
}

/** Waits until all promises have settled. The first failure aborts the others, and is thrown. */
class Together {
  #controller = new AbortController();
  #promises = [];
  options = { timeout: LIMIT, signal: this.#controller.signal };

  add(promise) {
    promise.catch((error) => this.#controller.abort(error));
    this.#promises.push(promise);
  }

  async end() {
    await Promise.allSettled(this.#promises);
    const { aborted, reason } = this.#controller.signal;
    if (aborted) throw reason;
  }
}

/** Opens two endpoints, runs a program with them, and closes them. */
async function withPair(options, run) {
  const opened = [];
  const failures = [];
  try {
    for (let i = 0; i < 2; i++) {
      const endpoint = await open(options);
      opened.push(endpoint);
      if (options.driver === 'manual') turn(endpoint.domain);
    }
    const [a, b] = opened;
    await run(a, b, a.av.insert(b.address), b.av.insert(a.address));
  } catch (error) {
    // efa (1.17) reports only to the target why a write was lost.
    failures.push(error, ...opened.flatMap(({ receiveQueue }) => receiveQueue.readErrors()));
  }
  for (const endpoint of opened)
    await endpoint.close({ timeout: 500 }).catch((e) => failures.push(e));
  throwFirst(failures);
}

/** Throws the first failure, if there is one. It may have caused the others. */
function throwFirst([first, ...others]) {
  if (first) throw Object.assign(first, { others });
}

function turn(domain) {
  if (domain.closed) return;
  domain.progress();
  setImmediate(turn, domain);
}

const LENGTHS = [0, 8, 5000, 200_000];

function messages(options) {
  return withPair({ ...options, caps: ['FI_MSG'] }, async (a, b, toB, toA) => {
    const all = new Together();
    // Each receive has room for any message: if one message is missing, the next ones arrive in its place.
    const into = LENGTHS.map(() => new Uint8Array(LENGTHS.at(-1)));
    for (const buffer of into) all.add(b.recv(buffer, null, all.options));
    for (const [i, length] of LENGTHS.entries())
      all.add(a.send(bytesOf(length, i), toB, all.options));
    await all.end();
    for (const [i, length] of LENGTHS.entries()) {
      assert.deepEqual(into[i].subarray(0, length), bytesOf(length, i));
    }
    const back = new Together();
    back.add(a.recv(into[1], null, back.options));
    back.add(b.send(bytesOf(8, 9), toA, back.options));
    await back.end();
    assert.deepEqual(into[1].subarray(0, 8), bytesOf(8, 9));
  });
}

function tagged(options) {
  return withPair({ ...options, caps: ['FI_TAGGED'] }, async (a, b, toB) => {
    const all = new Together();
    const into = LENGTHS.map((length) => new Uint8Array(length));
    for (const [i, buffer] of into.entries()) all.add(b.trecv(buffer, null, i, 0, all.options));
    for (const [i, length] of [...LENGTHS.entries()].reverse()) {
      all.add(a.tsend(bytesOf(length, i), toB, i, all.options));
    }
    await all.end();
    for (const [i, length] of LENGTHS.entries()) assert.deepEqual(into[i], bytesOf(length, i));
  });
}

async function handshake(a, b, toB, toA) {
  const both = new Together();
  both.add(b.recv(new Uint8Array(8), null, both.options));
  both.add(a.recv(new Uint8Array(8), null, both.options));
  both.add(a.send(bytesOf(8, 1), toB, both.options));
  both.add(b.send(bytesOf(8, 2), toA, both.options));
  await both.end();
}

function rma(options) {
  return withPair({ ...options, caps: ['FI_MSG', 'FI_RMA'] }, async (a, b, toB, toA) => {
    const length = 100_000;
    const region = await b.domain.allocate(length, ['FI_REMOTE_WRITE', 'FI_REMOTE_READ']);
    await handshake(a, b, toB, toA);
    const remote = a.domain.remote(region.descriptor());
    const write = new Together();
    write.add(a.write(bytesOf(length, 3), toB, remote, write.options));
    await write.end();
    const read = new Together();
    const into = new Uint8Array(length);
    read.add(a.read(into, toB, remote, read.options));
    await read.end();
    assert.deepEqual(into, bytesOf(length, 3));
    await region.close();
  });
}

function atomics(options) {
  return withPair(
    { ...options, caps: ['FI_MSG', 'FI_RMA', 'FI_ATOMIC'] },
    async (a, b, toB, toA) => {
      const region = await b.domain.allocate(32, ['FI_REMOTE_WRITE', 'FI_REMOTE_READ']);
      await handshake(a, b, toB, toA);
      const remote = a.domain.remote(region.descriptor());
      const one = BigUint64Array.of(1n);
      const before = BigUint64Array.of(9n);
      const last = BigUint64Array.of(9n);
      // One after another, because the results depend on their order.
      for (const post of [
        (how) => a.atomic(one, toB, remote, { ...how, op: 'FI_SUM' }),
        (how) => a.fetchAtomic(one, before, toB, remote, { ...how, op: 'FI_SUM' }),
        (how) =>
          a.compareAtomic(BigUint64Array.of(7n), BigUint64Array.of(2n), last, toB, remote, {
            ...how,
            op: 'FI_CSWAP',
          }),
      ]) {
        const all = new Together();
        all.add(post({ ...all.options, datatype: 'FI_UINT64', flags: ['FI_DELIVERY_COMPLETE'] }));
        await all.end();
      }
      assert.deepEqual([before[0], last[0]], [1n, 2n]);
      assert.equal(Buffer.from(region.bytes).readBigUInt64LE(0), 7n);
      await region.close();
    },
  );
}

/** Messages and writes of batches, the second time with the operations of the first. */
function batch(options) {
  return withPair({ ...options, caps: ['FI_MSG', 'FI_RMA'] }, async (a, b, toB, toA) => {
    const region = await b.domain.allocate(LENGTHS.at(-1), ['FI_REMOTE_WRITE']);
    await handshake(a, b, toB, toA);
    const remote = a.domain.remote(region.descriptor());
    const into = LENGTHS.map(() => new Uint8Array(LENGTHS.at(-1)));
    const sends = a.batch();
    const receives = b.batch();
    for (const buffer of into) receives.recv(buffer);
    for (const [i, length] of LENGTHS.entries()) sends.send(bytesOf(length, i), toB);
    sends.write(bytesOf(LENGTHS.at(-1), 5), toB, remote, { flags: ['FI_DELIVERY_COMPLETE'] });
    for (let round = 0; round < 2; round++) {
      for (const buffer of into) buffer.fill(0);
      const all = new Together();
      all.add(receives.submit(all.options));
      all.add(sends.submit(all.options));
      await all.end();
      for (const [i, length] of LENGTHS.entries()) {
        assert.deepEqual(into[i].subarray(0, length), bytesOf(length, i));
      }
      assert.deepEqual(region.bytes, bytesOf(LENGTHS.at(-1), 5));
    }
    await region.close();
  });
}

async function transfer({ driver: _, ...options }) {
  const engines = [];
  const failures = [];
  const reported = [];
  try {
    for (let i = 0; i < 2; i++) {
      const engine = await TransferEngine.open({ ...options, mapMemory: false });
      engines.push(engine);
      collect(engine.events(), reported);
    }
    const [a, b] = engines;
    const [toB, toA] = [await a.peer(b.address), await b.peer(a.address)];
    const length = 1_500_000;
    const from = await a.register(bytesOf(length, 4));
    const into = new Uint8Array(length);
    const memory = await b.register(into);
    const offer = await memory.offer({ access: 'write', to: toA, expires: LIMIT });
    const outcomes = await Promise.allSettled([
      toB.write(from, offer.token, { timeout: LIMIT }),
      offer.arrived,
    ]);
    for (const { reason } of outcomes) if (reason) failures.push(reason);
    if (failures.length === 0) assert.deepEqual(into, bytesOf(length, 4));
    await offer.close();
  } catch (error) {
    failures.push(error);
  }
  for (const engine of engines) await engine.close().catch((error) => failures.push(error));
  throwFirst(failures.length > 0 ? [...failures, ...reported] : []);
}

async function collect(events, errors) {
  for await (const { error } of events) if (error) errors.push(error);
}

export const PROGRAMS = { messages, tagged, rma, atomics, batch, transfer };
