import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type Domain, Fabric, getInfo, type LifecycleMessage, open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { combinations } from '../support/cases.js';
import { exchangeMessage, sendsEarly, tally, until } from '../support/lifecycle.js';
import { settle } from '../support/settle.js';

const CAPS = ['FI_MSG', 'FI_TAGGED', 'FI_RMA'] as const;
const closedError = expect.objectContaining({ code: 'ERR_CLOSED' });

describe.each(combinations)('$provider, $driver driver', ({ provider, driver }) => {
  const opened = () => open({ provider, driver, caps: CAPS });

  test('close() settles all posted and queued sends to a peer that does not receive', async () => {
    const sender = await opened();
    const silent = await opened();
    const peer = await exchangeMessage(sender, silent);
    const payload = new Uint8Array(4096);
    const sends = Array.from({ length: 10_000 }, () => sender.send(payload, peer));
    const ends = tally(sends);
    await sender.close({ timeout: 50 });
    expect(sender.closed).toBe(true);
    const { ok = 0, FI_ECANCELED = 0, ...others } = await ends;
    expect(others).toEqual({});
    expect(ok + FI_ECANCELED).toBe(10_000);
    expect(FI_ECANCELED).toBeGreaterThan(0);
    await silent.close();
  });

  test('operations settle when their completion queue or address vector closes, without progress calls', async () => {
    const [info] = getInfo({ fabricAttr: { provName: provider }, caps: ['FI_MSG'] });
    if (info === undefined) throw new Error(`no ${provider}`);
    await using fabric = Fabric.open(info);
    await using domain = fabric.domain(info, { driver });
    for (const which of ['cq', 'av'] as const) {
      const objects = { av: domain.addressVector(), cq: domain.completionQueue() };
      const ep = domain.endpoint(info, objects);
      const peer = objects.av.insert(ep.address);
      const ends = tally([ep.recv(new Uint8Array(8)), ep.send(new Uint8Array(8), peer)]);
      await objects[which].close();
      const { ok = 0, FI_ECANCELED = 0 } = await ends;
      expect(ok + FI_ECANCELED).toBe(2);
    }
  });

  test('close() cancels receives, tagged receives and batches of receives', async () => {
    const ep = await opened();
    const memory = new Uint8Array(64 * 1024);
    const piece = (i: number) => memory.subarray(i * 64, (i + 1) * 64);
    const receives = Array.from({ length: 300 }, (_, i) => ep.recv(piece(i)));
    const tagged = Array.from({ length: 300 }, (_, i) => ep.trecv(piece(300 + i), null, i));
    const batch = ep.batch();
    for (let i = 0; i < 100; i++) batch.recv(piece(600 + i));
    const runs = [batch.submit(), batch.submit()];
    const ends = tally([...receives, ...tagged, ...runs]);
    await ep.close();
    expect(await ends).toEqual({ FI_ECANCELED: 602 });
    expect(batch.inFlight).toBe(0);
  });

  test('close() settles queued batches of sends', async () => {
    const sender = await opened();
    const silent = await opened();
    const peer = await exchangeMessage(sender, silent);
    const batch = sender.batch();
    const payload = new Uint8Array(1024);
    for (let i = 0; i < 1000; i++) batch.send(payload, peer);
    const ends = tally(Array.from({ length: 20 }, () => batch.submit()));
    await sender.close({ timeout: 50 });
    const { ok = 0, FI_ECANCELED = 0, ...others } = await ends;
    expect(others).toEqual({});
    expect(ok + FI_ECANCELED).toBe(20);
    expect(FI_ECANCELED).toBeGreaterThan(0);
    await silent.close();
  });

  test('close() ends messages(), arrived() and immediates()', async () => {
    const ep = await opened();
    const messages = ep.messages({ count: 16, size: 64 });
    const pending = [messages.next(), messages.next()];
    const { receiveQueue: cq } = ep;
    const arrived = tally([cq.arrived(1n), cq.arrived(2n, 100)]);
    const immediates = cq.immediates();
    const immediate = immediates.next();
    await ep.close();
    for (const next of pending) expect(await next).toEqual({ value: undefined, done: true });
    expect(await messages.next()).toEqual({ value: undefined, done: true });
    expect(await immediate).toEqual({ value: undefined, done: true });
    expect(await arrived).toEqual({ FI_ECANCELED: 2 });
    expect(() => cq.immediates()).toThrow(closedError);
  });

  test('operations after close() fail with ERR_CLOSED', async () => {
    const ep = await opened();
    const self = ep.av.insert(ep.address);
    const region = await ep.domain.allocate(64, ['FI_WRITE', 'FI_REMOTE_WRITE']);
    const remote = ep.domain.remote(region.descriptor());
    const batch = ep.batch();
    batch.send(new Uint8Array(8), self);
    const closing = ep.close();
    expect(ep.closed).toBe(true);
    const bytes = new Uint8Array(8);
    for (const refused of [
      ep.send(bytes, self),
      ep.recv(bytes),
      ep.tsend(bytes, self, 1),
      ep.trecv(bytes, null, 1),
      ep.inject(bytes, self),
      ep.write(bytes, self, remote),
      batch.submit(),
    ]) {
      await expect(refused).rejects.toEqual(closedError);
    }
    expect(() => ep.batch()).toThrow(closedError);
    expect(() => ep.messages()).toThrow(closedError);
    await closing;
    await ep.close();
    await ep[Symbol.asyncDispose]();
    expect(ep.domain.closed).toBe(true);
    expect(ep.receiveQueue.closed).toBe(true);
    expect(() => ep.av.insert(ep.address)).toThrow(closedError);
    expect(() => ep.domain.addressVector()).toThrow(closedError);
    await expect(ep.domain.register(bytes, ['FI_SEND'])).rejects.toEqual(closedError);
    await expect(ep.receiveQueue.arrived(1)).rejects.toEqual(closedError);
  });

  test('close() of a domain or a fabric settles all operations in flight on its endpoints', async () => {
    const [info] = getInfo({
      fabricAttr: { provName: provider },
      epAttr: { type: 'FI_EP_RDM' },
      caps: ['FI_MSG', 'FI_RMA'],
    });
    const fabric = Fabric.open(info!);
    const domains = [fabric.domain(info!, { driver }), fabric.domain(info!, { driver })];
    const ends: Promise<Record<string, number>>[] = [];
    for (const domain of domains) {
      for (let i = 0; i < 2; i++) {
        const cq = domain.completionQueue();
        const ep = domain.endpoint(info!, { av: domain.addressVector(), cq });
        const receives = Array.from({ length: 50 }, () => ep.recv(new Uint8Array(64)));
        ends.push(tally([...receives, cq.arrived(7, 3)]));
      }
      await domain.allocate(4096, ['FI_REMOTE_WRITE']);
    }
    await settle(domains[0]!.close(), ...domains);
    expect(domains[0]!.closed).toBe(true);
    await fabric.close();
    expect(domains[1]!.closed).toBe(true);
    for (const end of ends) expect(await end).toEqual({ FI_ECANCELED: 51 });
    await fabric.close();
    await domains[0]!.close();
    expect(() => fabric.domain(info!)).toThrow(closedError);
  });

  test.each(['domain', 'receiveQueue', 'av'] as const)(
    'close() of the %s of an endpoint from open() closes the endpoint; its close() then closes the rest',
    async (which) => {
      const closed: string[] = [];
      const record = (message: unknown) => {
        closed.push((message as LifecycleMessage).type);
      };
      subscribe('libfabric:close', record);
      const ep = await opened();
      const ends = tally([ep.recv(new Uint8Array(8)), ep.receiveQueue.arrived(1n)]);
      await ep[which].close();
      expect(ep.closed).toBe(true);
      expect(closed.includes('fabric')).toBe(which === 'domain');
      await ep.close();
      unsubscribe('libfabric:close', record);
      expect(await ends).toEqual({ FI_ECANCELED: 2 });
      expect(closed.filter((type) => /fabric|domain|endpoint/.test(type))).toEqual([
        'endpoint',
        'domain',
        'fabric',
      ]);
    },
  );

  test('an endpoint and its domain can be closed at the same time', async () => {
    const ep = await opened();
    const ends = tally([ep.recv(new Uint8Array(8))]);
    await Promise.all([ep.close(), ep.domain.close(), ep.close()]);
    expect(await ends).toEqual({ FI_ECANCELED: 1 });
    expect(ep.domain.closed).toBe(true);
  });

  test.each(['av', 'cq'] as const)('close() of the %s closes its endpoints', async (which) => {
    const [info] = getInfo({ fabricAttr: { provName: provider }, caps: ['FI_MSG'] });
    const fabric = Fabric.open(info!);
    const domain = fabric.domain(info!, { driver });
    const av = domain.addressVector();
    const cq = domain.completionQueue();
    const ep = domain.endpoint(info!, { av, cq });
    const other = domain.endpoint(info!, {
      av: domain.addressVector(),
      cq: domain.completionQueue(),
    });
    const self = av.insert(ep.address);
    const ends = tally(Array.from({ length: 100 }, () => ep.recv(new Uint8Array(64))));
    const arrived = which === 'cq' ? [cq.arrived(1n, 2)] : [];
    const waits = tally(arrived);
    await settle({ av, cq }[which].close(), domain);
    expect(await ends).toEqual({ FI_ECANCELED: 100 });
    expect(await waits).toEqual(which === 'cq' ? { FI_ECANCELED: 1 } : {});
    expect(ep.closed).toBe(true);
    await expect(ep.send(new Uint8Array(8), self)).rejects.toEqual(closedError);
    await ep.close();

    const peer = other.av.insert(other.address);
    const receive = other.recv(new Uint8Array(8));
    await settle(other.send(new Uint8Array(8).fill(1), peer), domain);
    expect((await settle(receive, domain)).length).toBe(8);
    await fabric.close();
  });

  test('close() of a region waits for the operations that use it', async () => {
    const ep = await opened();
    const region = await ep.domain.allocate(64, ['FI_RECV']);
    const receive = ep.recv(region);
    let closed = false;
    const closing = region.close().then(() => {
      closed = true;
    });
    await expect(ep.recv(region)).rejects.toEqual(closedError);
    expect(closed).toBe(false);
    const self = ep.av.insert(ep.address);
    await settle(ep.send(new Uint8Array(64).fill(9), self), ep.domain);
    expect((await settle(receive, ep.domain)).length).toBe(64);
    await settle(closing, ep.domain);
    expect(region.bytes.every((byte) => byte === 9)).toBe(true);
    await ep.close();
  });

  test('close() waits at most for its timeout for posted operations', async (context) => {
    const early = sendsEarly(provider);
    if (early) context.skip(early);
    const sender = await opened();
    const silent = await opened();
    const peer = await exchangeMessage(sender, silent);
    const big = new Uint8Array(1 << 20); // too long to be sent before the receiver requests it
    const ends = tally([sender.send(big, peer)]);
    await settle(untilPosted(sender.domain, 2), sender.domain);
    const start = performance.now();
    await sender.close({ timeout: 300.5 });
    const elapsed = performance.now() - start;
    expect(elapsed).toBeGreaterThan(250);
    expect(elapsed).toBeLessThan(3000);
    expect(await ends).toEqual({ FI_ECANCELED: 1 });
    await silent.close();
  });

  test('close() lets posted operations complete within its timeout', async () => {
    const sender = await opened();
    const late = await opened();
    const big = new Uint8Array(1 << 20).fill(3);
    const sent = sender.send(big, await exchangeMessage(sender, late));
    const domains = [sender.domain, late.domain];
    await settle(untilPosted(sender.domain, 2), ...domains);
    const closing = sender.close({ timeout: 10_000 });
    const into = new Uint8Array(1 << 20);
    const received = late.recv(into);
    await settle(Promise.all([received, sent, closing]), ...domains);
    expect(Buffer.compare(into, big)).toBe(0);
    await late.close();
  });

  test('a registration in progress settles when its domain closes', async () => {
    const ep = await opened();
    const ends = tally([
      ep.domain.register(new Uint8Array(4096), ['FI_SEND']),
      ep.domain.allocate(4096, ['FI_SEND']),
    ]);
    // The registrations end on another thread. The event loop is blocked, so the domain closes before it
    // is notified.
    const end = performance.now() + 20;
    while (performance.now() < end);
    await ep.close();
    const { ok = 0, ERR_CLOSED = 0 } = await ends;
    expect(ok + ERR_CLOSED).toBe(2);
  });

  test('await using closes the endpoint at the end of the block', async () => {
    let seen: Domain | undefined;
    let receive: Promise<unknown> | undefined;
    {
      await using ep = await opened();
      receive = ep.recv(new Uint8Array(8));
      receive.catch(() => {});
      seen = ep.domain;
    }
    expect(seen.closed).toBe(true);
    await expect(receive).rejects.toMatchObject({ code: 'FI_ECANCELED' });
  });
});

function untilPosted(domain: Domain, operations: number): Promise<void> {
  return until(() => domain.stats().operations >= operations);
}

test('close() releases a multi-receive buffer', async () => {
  const ep = await open({ provider: 'tcp', caps: ['FI_MSG', 'FI_MULTI_RECV'] });
  const buffer = ep.multiRecv(new Uint8Array(65_536));
  const next = buffer.next();
  await ep.close();
  expect(await next).toEqual({ value: undefined, done: true });
  expect(buffer.released).toBe(true);
  await buffer.return();
});

test('close() of a counter or of its fabric ends waits for the counter', async () => {
  const [info] = getInfo({ fabricAttr: { provName: 'tcp' }, caps: ['FI_MSG'] });
  const fabric = Fabric.open(info!);
  const domain = fabric.domain(info!);
  const counter = domain.counter();
  const ends = tally([counter.wait(1), counter.wait(5)]);
  await counter.close();
  expect(await ends).toEqual({ FI_ECANCELED: 2 });
  const another = domain.counter();
  const others = tally([another.wait(1)]);
  await fabric.close();
  expect(await others).toEqual({ FI_ECANCELED: 1 });
});
