import { once } from 'node:events';
import { expect, test } from 'vitest';
import { Notes, OncePerPeer } from '../../dist/transfer/notes.js';

test('a message passes once, in any order, for each peer', () => {
  const once = new OncePerPeer();
  for (const sequence of [2, 1, 3]) expect(once.isNew(1n, sequence)).toBe(true);
  for (const sequence of [2, 1, 3]) expect(once.isNew(1n, sequence)).toBe(false);
  expect(once.isNew(2n, 1)).toBe(true);
});

test('a number that a peer has chosen far ahead takes no longer than any other', () => {
  const once = new OncePerPeer();
  expect(once.isNew(1n, 1)).toBe(true);
  const start = performance.now();
  expect(once.isNew(1n, 2 ** 32 - 1)).toBe(true);
  expect(performance.now() - start).toBeLessThan(1000);
  expect(once.isNew(1n, 1)).toBe(false);
});

test('of any number of senders, the last 65,536 are remembered', () => {
  const once = new OncePerPeer();
  for (let from = 0n; from <= 65_536n; from++) expect(once.isNew(from, 1)).toBe(true);
  expect(once.isNew(65_536n, 1)).toBe(false);
  expect(once.isNew(0n, 1)).toBe(true);
});

test('messages that nobody reads are dropped from a number on, with one warning and a count', async () => {
  const notes = new Notes(() => {});
  const note = { bytes: new Uint8Array(), from: undefined, id: '' };
  const warned = once(process, 'warning');
  for (let i = 0; i < 65_536; i++) notes.arrived(note);
  expect(notes).toMatchObject({ received: 65_536, unread: 65_536, dropped: 0 });
  let warnings = 0;
  const count = () => {
    warnings += 1;
  };
  process.on('warning', count);
  notes.arrived(note);
  notes.arrived(note);
  expect(notes).toMatchObject({ received: 65_538, unread: 65_536, dropped: 2 });
  const [{ name, message }] = await warned;
  process.off('warning', count);
  expect(name).toBe('LibfabricWarning');
  expect(message).toMatch(/drops messages: 65536 wait/);
  expect(warnings).toBe(1);
});
