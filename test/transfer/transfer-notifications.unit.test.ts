import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ForgottenPeers } from '../../dist/transfer/forgotten-peers.js';
import { Inbox } from '../../dist/transfer/inbox.js';
import { Notifications } from '../../dist/transfer/notifications.js';

const PROGRAM = 0;

/** The messages of senders that are peers or not, and the confirmations to them. */
function inboxOf(...known: bigint[]) {
  return inboxThatAsks(() => undefined, ...known);
}

/** The same. @param look asks directories for senders that are no peers. */
function inboxThatAsks(look: () => Promise<unknown> | undefined, ...known: bigint[]) {
  const taken: number[] = [];
  const take = (_channel: number, sequence: number) => taken.push(sequence);
  const peers = new Map(known.map((identity) => [identity, { identity, take }]));
  const notifications = new Notifications(() => {});
  const inbox = new Inbox(
    peers as never,
    notifications,
    undefined as never,
    undefined as never,
    look,
  );
  // A packet with one empty message arrives.
  const arrived = (from: bigint, sequence: number, packet = new Uint8Array(2)) =>
    inbox.arrived(from, sequence, packet, PROGRAM);
  return { inbox, notifications, peers, taken, arrived };
}

test('a message of each sender passes once', () => {
  const { notifications, arrived } = inboxOf(1n, 2n);
  for (const from of [1n, 2n, 3n]) for (const sequence of [2, 1, 2, 1]) arrived(from, sequence);
  expect(notifications.unread).toBe(6);
});

test('of any number of senders, the last 65,536 are remembered', () => {
  const { notifications, arrived } = inboxOf();
  const reader = notifications.read();
  for (let from = 0n; from <= 65_536n; from++) {
    arrived(from, 1);
    reader.next();
  }
  arrived(65_536n, 1);
  expect(notifications.unread).toBe(0);
  arrived(0n, 1);
  expect(notifications.unread).toBe(1);
});

test('a peer gets the confirmation of 4096 messages, and of the next ones when half of them are read', () => {
  const { notifications, taken, arrived } = inboxOf(1n);
  for (let sequence = 1; sequence <= 5000; sequence++) arrived(1n, sequence);
  expect(taken.length).toBe(4096);
  const reader = notifications.read();
  while (notifications.unread > 2048) {
    expect(taken.length).toBe(4096);
    reader.next();
  }
  expect(taken).toEqual(Array.from({ length: 5000 }, (_, i) => i + 1));
  expect(notifications.dropped).toBe(0);
});

test('messages wait in order while directories are asked for their sender, up to the limit', async () => {
  let answer = () => {};
  const look = () =>
    new Promise<void>((resolve) => {
      answer = resolve;
    });
  const { inbox, notifications, peers, taken, arrived } = inboxThatAsks(look);
  for (let sequence = 1; sequence <= 10; sequence++) arrived(1n, sequence);
  expect(notifications.unread).toBe(0);
  const peer = { identity: 1n, take: (_: number, sequence: number) => taken.push(sequence) };
  peers.set(1n, peer);
  inbox.known(peer as never);
  expect(notifications.unread).toBe(10);
  arrived(1n, 11);
  expect(notifications.unread).toBe(11);
  const reader = notifications.read();
  for (let i = 0; i < 11; i++) expect((await reader.next()).value?.from).toBe(peer);
  for (let sequence = 1; sequence <= 65_536; sequence++) arrived(2n, sequence);
  expect([notifications.unread, notifications.dropped]).toEqual([0, 0]);
  const warned = once(process, 'warning');
  for (let from = 3n; from < 13n; from++) arrived(from, 1);
  expect([notifications.unread, notifications.dropped]).toEqual([0, 10]);
  await warned;
  answer();
  await new Promise(setImmediate);
  expect(notifications.unread).toBe(65_536);
});

test('an engine that the directories do not have is a stranger for half a second, and each is asked for once', async () => {
  const looks: (() => void)[] = [];
  const look = () => new Promise<void>((resolve) => looks.push(resolve));
  const { inbox, notifications, peers, arrived } = inboxThatAsks(look);
  const now = vi.spyOn(performance, 'now').mockReturnValue(1000);
  onTestFinished(() => now.mockRestore());
  for (const from of [1n, 2n]) for (const sequence of [1, 2]) arrived(from, sequence);
  expect([looks.length, notifications.unread]).toEqual([2, 0]);
  for (const answer of looks.splice(0)) answer();
  await new Promise(setImmediate);
  expect(notifications.unread).toBe(4);
  now.mockReturnValue(1499);
  arrived(1n, 3);
  expect([looks.length, notifications.unread]).toEqual([0, 5]);
  now.mockReturnValue(1500);
  for (const from of [1n, 2n]) arrived(from, 4);
  expect([looks.length, notifications.unread]).toEqual([2, 5]);
  const peer = { identity: 1n, take: () => {} };
  peers.set(1n, peer as never);
  inbox.known(peer as never);
  peers.delete(1n); // it was closed
  arrived(1n, 5);
  expect([looks.length, notifications.unread]).toEqual([3, 6]);
});

test('the messages of a packet are read one by one, and bytes that are not a packet are ignored', async () => {
  const { notifications, taken, arrived } = inboxOf(1n);
  arrived(1n, 1, Uint8Array.of(1, 0, 7, 0, 0, 2, 0, 8, 9));
  arrived(1n, 2, Uint8Array.of(1, 0, 7, 5));
  expect(notifications).toMatchObject({ received: 3, unread: 3 });
  expect(taken).toEqual([1]);
  const reader = notifications.read();
  for (const bytes of [[7], [], [8, 9]])
    expect((await reader.next()).value.bytes).toEqual(Buffer.from(bytes));
});

test('a sender that becomes a peer gets the confirmation of its earlier messages', () => {
  const { inbox, peers, taken, arrived } = inboxOf();
  arrived(1n, 1);
  arrived(1n, 3);
  const peer = { identity: 1n, take: (_channel: number, sequence: number) => taken.push(sequence) };
  peers.set(1n, peer);
  inbox.known(peer as never);
  expect(taken).toEqual([1, 3]);
});

test('unread messages of unknown senders are dropped beyond a limit, with one warning and a count', async () => {
  const { notifications, arrived } = inboxOf();
  const warned = once(process, 'warning');
  for (let i = 1; i <= 65_536; i++) arrived(1n, i);
  expect(notifications).toMatchObject({ received: 65_536, unread: 65_536, dropped: 0 });
  let warnings = 0;
  const count = () => {
    warnings += 1;
  };
  process.on('warning', count);
  arrived(2n, 1);
  arrived(1n, 65_537);
  expect(notifications).toMatchObject({ received: 65_538, unread: 65_536, dropped: 2 });
  const [{ name, message }] = await warned;
  process.off('warning', count);
  expect(name).toBe('LibfabricWarning');
  expect(message).toMatch(/drops messages: 65536 wait/);
  expect(warnings).toBe(1);
});

test('of any number of forgotten peers, 65,536 are remembered, and then no memory is mapped', () => {
  const forgotten = new ForgottenPeers();
  for (let identity = 0n; identity < 65_535n; identity++) forgotten.add(identity);
  expect([forgotten.mayMap(0n), forgotten.mayMap(65_535n)]).toEqual([false, true]);
  for (let identity = 0n; identity < 70_000n; identity++) forgotten.add(identity);
  expect([forgotten.mayMap(70_000n), forgotten.size]).toEqual([false, 65_536]);
});

test('of a packet that exceeds the limit, the messages that have room are kept', async () => {
  for (const known of [[], [1n]]) {
    const { notifications, arrived } = inboxOf(...known);
    const warned = once(process, 'warning');
    const packet = new Uint8Array(2 * 1000); // 1000 empty messages
    for (let i = 1; i <= 66; i++) arrived(1n, i, packet);
    expect(notifications).toMatchObject({ unread: 65_536, dropped: 464 });
    await warned;
  }
});
