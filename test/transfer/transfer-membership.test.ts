// Engines of a group find each other in a directory.
import {
  type Membership,
  type MembershipEvent,
  TransferEngine,
  type TransferEngineOptions,
} from 'libfabric/transfer';
import { expect, onTestFinished, test } from 'vitest';
import { pattern } from '../support/bytes.js';
import { folderService, open } from '../support/directories.js';
import { until } from '../support/lifecycle.js';
import { Member } from '../support/member.js';
import { MemoryDirectory } from '../support/memory-directory.js';
import { settle } from '../support/settle.js';

const tcp = { provider: 'tcp', node: '127.0.0.1', mapMemory: false } as const;

async function newEngine(options: TransferEngineOptions = tcp) {
  const engine = await TransferEngine.open(options);
  onTestFinished(() => engine.close());
  return engine;
}

const idsOf = ({ peers }: Membership) => [...peers.keys()];

async function next(events: AsyncIterator<MembershipEvent>) {
  const { value } = await settle(events.next());
  const { type, peer, reason } = value as MembershipEvent & { reason?: string };
  return { type, id: peer.id, ...(reason !== undefined && { reason }) };
}

const SIZE = 64 << 20;
const GONE = 'its entry is no longer in the directory';

test('engines that join are peers until they leave', async () => {
  const directory = new MemoryDirectory();
  const [a, b] = [await newEngine(), await newEngine()];
  const first = await a.join(directory, 'engines');
  expect(idsOf(first)).toEqual([]);
  const second = await b.join(directory, 'engines');
  expect(idsOf(second)).toEqual([a.id]); // those that are there are peers when join() resolves
  const events = first.events();
  expect(await next(events)).toEqual({ type: 'joined', id: b.id });
  expect(await next(first.events())).toEqual({ type: 'joined', id: b.id }); // also if it came before
  const peer = first.peers.get(b.id);
  await peer?.notify(pattern(8));
  await second.leave();
  expect(second.closed).toBe(true);
  expect(await second.events().next()).toMatchObject({ done: true });
  expect(await next(events)).toEqual({ type: 'lost', id: b.id, reason: GONE });
  expect([idsOf(first), idsOf(second), peer?.closed]).toEqual([[], [], true]);
  const third = await b.join(directory, 'engines');
  expect(await next(events)).toEqual({ type: 'joined', id: b.id });
  await Promise.all([third.leave(), first[Symbol.asyncDispose]()]);
  expect(directory.watched).toBe(false);
  expect(directory.entries.size).toBe(0);
});

test('a peer that the program or another membership has stays open', async () => {
  const directories = [new MemoryDirectory(), new MemoryDirectory()] as const;
  const [a, b, c] = [await newEngine(), await newEngine(), await newEngine()];
  for (const directory of directories) {
    for (const engine of [b, c]) await engine.join(directory, 'engines');
  }
  const [one, two] = [
    await a.join(directories[0], 'engines'),
    await a.join(directories[1], 'engines'),
  ];
  const [toB, toC] = [await a.peer(b.address), one.peers.get(c.id)];
  expect([one.peers.get(b.id), two.peers.get(b.id), two.peers.get(c.id)]).toEqual([toB, toB, toC]);
  await one.leave();
  expect([toB.closed, toC?.closed]).toEqual([false, false]);
  await two.leave();
  expect([toB.closed, toC?.closed]).toEqual([false, true]);
});

test('an entry that is no engine of this kind is ignored with one warning', async () => {
  const directory = new MemoryDirectory();
  const engine = await newEngine();
  const others = await Promise.all([
    newEngine({ ...tcp, secret: 'another' }),
    newEngine({ provider: 'shm' }),
    newEngine(),
  ]);
  const warnings: string[] = [];
  const listener = ({ name, message }: Error) => warnings.push(`${name}: ${message}`);
  process.on('warning', listener);
  onTestFinished(() => void process.off('warning', listener));
  const [sealed, shm, good] = others.map(({ id, address }) => ({ id, address }));
  directory.set({ id: 'noise', address: 'noise' });
  directory.set(sealed!);
  directory.set(shm!);
  directory.set({ id: 'other', address: good!.address });
  directory.set({ id: 'wrong', address: 7 as never });
  directory.set({ id: '\n', address: 'x' });
  const membership = await engine.join(directory, 'engines');
  directory.set(good!);
  await until(() => membership.peers.size === 1);
  expect(idsOf(membership)).toEqual([good!.id]);
  await new Promise(setImmediate);
  expect(warnings.sort()).toEqual([
    expect.stringMatching(/^LibfabricWarning: the entry "\\n" of engines is ignored: address/),
    expect.stringMatching(
      /entry \w+ of engines is ignored: address is of an engine over shm|damaged/,
    ),
    expect.stringMatching(
      /entry \w+ of engines is ignored: address is of an engine over shm|damaged/,
    ),
    expect.stringMatching(/the entry noise of engines is ignored: address is not the address/),
    expect.stringMatching(/the entry other of engines is ignored: address is of the engine/),
    expect.stringMatching(/the entry wrong of engines is ignored: address must be a string/),
  ]);
  directory.set({ id: good!.id, address: good!.address });
  directory.set({ id: 'noise', address: 'other noise' });
  await new Promise(setImmediate);
  expect(warnings.length).toBe(6);
});

test('close() of the engine leaves, also if the directory does not answer', async () => {
  const directory = new MemoryDirectory();
  const [a, b] = [await newEngine(), await newEngine()];
  const membership = await a.join(directory, 'engines');
  const other = await b.join(directory, 'engines');
  const events = other.events();
  await next(events);
  await a.close();
  expect([membership.closed, directory.entries.has(a.id)]).toEqual([true, false]);
  expect(await next(events)).toMatchObject({ type: 'lost', id: a.id });
  directory.withdraw = () => new Promise(() => {});
  await settle(b.close());
  expect(await settle(other.leave())).toBeUndefined();
});

test('while the directory fails no peer is lost, and for one lease after', async () => {
  const directory = new MemoryDirectory();
  const [a, b, c] = [await newEngine(), await newEngine(), await newEngine()];
  const membership = await a.join(directory, 'engines', { ttl: 1000 });
  for (const engine of [b, c]) await engine.join(directory, 'engines');
  await until(() => membership.peers.size === 2);
  const events = membership.events();
  await next(events);
  await next(events);
  directory.fail(new Error('the server is away'));
  await until(() => !directory.watched);
  directory.entries.clear();
  directory.fail(undefined);
  await until(() => directory.watched);
  const back = performance.now();
  expect(membership.peers.size).toBe(2);
  directory.set({ id: b.id, address: b.address }); // c does not come back
  expect(await next(events)).toEqual({ type: 'lost', id: c.id, reason: GONE });
  expect(performance.now() - back).toBeGreaterThan(800);
  expect(idsOf(membership)).toEqual([b.id]);
});

test('a peer that the engine loses is lost, and joins again when it is reached', async () => {
  const service = await folderService();
  onTestFinished(() => service.stop());
  const making = service.making(1);
  const engine = await newEngine({ ...tcp, stall: 100 });
  const directory = open(making);
  const membership = await engine.join(directory, 'engines');
  const events = membership.events();
  const member = new Member(making, tcp, 60_000);
  const id = await member.line();
  expect(await member.line()).toBe(`joined ${engine.id}`);
  expect(await next(events)).toEqual({ type: 'joined', id });
  const peer = membership.peers.get(id)!;
  const memory = await engine.register(pattern(SIZE));
  const token = await member.offer(SIZE);
  member.child.kill('SIGSTOP'); // so that the transfer is in flight
  const ended = peer.write(memory, token).catch(() => {});
  const lost = await next(events);
  expect(lost).toEqual({ type: 'lost', id, reason: expect.not.stringMatching(GONE) });
  expect(idsOf(membership)).toEqual([]);
  expect((await directory.lookup('engines')).map(({ id }) => id)).toContain(id);
  member.child.kill('SIGCONT');
  expect(await next(events)).toEqual({ type: 'joined', id });
  expect(membership.peers.get(id)).toBe(peer);
  member.child.kill('SIGKILL');
  await engine.close();
  await ended;
});

test('after engine.unref(), waiting for the events of a membership keeps no process alive', async () => {
  const service = await folderService();
  onTestFinished(() => service.stop());
  const member = new Member(service.making(1), tcp, 1000);
  await member.line();
  expect(await member.ends()).toEqual([13, null]);
});

test('wrong arguments are refused, and a join that fails leaves nothing', async () => {
  const directory = new MemoryDirectory();
  const engine = await newEngine();
  const type = { code: 'ERR_INVALID_ARG_TYPE' };
  await expect(engine.join({} as never, 'a')).rejects.toMatchObject(type);
  await expect(engine.join(directory, 1 as never)).rejects.toMatchObject(type);
  await expect(engine.join(directory, 'a/b')).rejects.toMatchObject({
    code: 'ERR_INVALID_ARG_VALUE',
  });
  await expect(engine.join(directory, 'a', { tll: 1 } as never)).rejects.toThrow("mean 'ttl'");
  await expect(engine.join(directory, 'a', { ttl: 1 })).rejects.toThrow(RangeError);
  directory.fail(new Error('the server is away'));
  await expect(engine.join(directory, 'a')).rejects.toThrow('the server is away');
  directory.fail(undefined);
  directory.watch = async function* () {
    await new Promise(() => {});
  };
  const late = engine.join(directory, 'a', { timeout: 50 });
  await expect(late).rejects.toMatchObject({ code: 'FI_ETIMEDOUT' });
  const controller = new AbortController();
  const aborted = engine.join(directory, 'a', { signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  expect(directory.entries.size).toBe(0);
  const joining = engine.join(directory, 'a');
  await expect(engine.join(directory, 'a')).rejects.toMatchObject({ code: 'ERR_INVALID_STATE' });
  await engine.close();
  await expect(joining).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  await expect(engine.join(directory, 'a')).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  expect(directory.entries.size).toBe(0);
});
