// When peers count as silent and lost, with a clock of the test.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Life, Liveness, type PeerState } from '../../dist/transfer/liveness.js';
import type { RemoteEngine } from '../../dist/transfer/remote-engine.js';

const LIMIT = 1000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function checked(limit = LIMIT) {
  const peer = { life: new Life(), state: 'connected' as PeerState, hasEnded: false };
  const log: string[] = [];
  const began = performance.now();
  const at = () => Math.round(performance.now() - began);
  let isHeard = false;
  let isDeaf = false;
  let probes = 0;
  const liveness = new Liveness(limit, {
    deaf: () => isDeaf,
    blocked: () => undefined,
    heard: () => {
      const heard = isHeard;
      isHeard = false;
      return heard;
    },
    probe: () => {
      probes += 1;
    },
    change: (_, state, reason) => {
      peer.state = state;
      log.push(`${at()} ${state}: ${reason}`);
    },
  });
  const remote = peer as unknown as RemoteEngine;
  const open = () => {
    peer.life.open += 1;
    liveness.watch(remote);
  };
  const hear = () => {
    isHeard = true;
  };
  const deafen = (on: boolean) => {
    isDeaf = on;
  };
  return { peer, remote, liveness, log, open, hear, deafen, probes: () => probes };
}

test('a peer is silent, and then lost within the limit, while something is open', () => {
  const { open, log, probes } = checked();
  open();
  vi.advanceTimersByTime(LIMIT);
  expect(log).toEqual([
    '500 silent: nothing has come from it for 500 ms',
    '800 lost: nothing has come from it for 800 ms',
  ]);
  expect(probes()).toBeLessThan(6);
});

test('a sign of life begins the time again, and makes the peer connected', () => {
  const { liveness, remote, open, hear, log } = checked();
  open();
  vi.advanceTimersByTime(450);
  hear();
  vi.advanceTimersByTime(600);
  expect(log).toEqual(['1000 silent: nothing has come from it for 500 ms']);
  liveness.back(remote);
  expect(log[1]).toBe('1050 connected: it has answered');
  vi.advanceTimersByTime(400);
  expect(log.length).toBe(2);
});

test('a peer whose process has ended never comes back, whatever was still on its way', () => {
  const { peer, liveness, remote, open, log } = checked();
  open();
  peer.hasEnded = true;
  liveness.doubt(remote);
  liveness.cut(remote, 'refused');
  liveness.back(remote);
  liveness.reached(remote);
  liveness.back(remote);
  expect(log).toEqual(['0 lost: its process or worker has ended']);
  peer.state = 'silent';
  liveness.back(remote);
  expect(log.length).toBe(1);
});

test('traffic makes probes unnecessary, and without it there are two in a limit', () => {
  const { open, hear, probes, peer } = checked();
  open();
  for (let i = 0; i < 100; i++) {
    hear();
    vi.advanceTimersByTime(50);
  }
  expect([probes(), peer.state]).toEqual([0, 'connected']);
  let last = 0;
  for (let i = 0; i < 100; i++) {
    if (probes() > last) hear();
    last = probes();
    vi.advanceTimersByTime(50);
  }
  expect(probes()).toBeGreaterThanOrEqual(10);
  expect(probes()).toBeLessThanOrEqual(25);
  expect(peer.state).toBe('connected');
});

test('without anything open, nothing is sent, no time counts, and no timer remains', () => {
  const { peer, open, log, probes } = checked();
  open();
  vi.advanceTimersByTime(150);
  peer.life.open = 0;
  vi.advanceTimersByTime(10 * LIMIT);
  expect([log, probes()]).toEqual([[], 0]);
  expect(vi.getTimerCount()).toBe(0);
  open();
  vi.advanceTimersByTime(450);
  expect(log).toEqual([]);
});

test('a peer that is in doubt is lost if it does not answer within a second, also with a long limit', () => {
  const { liveness, remote, open, hear, log, probes, peer, deafen } = checked(600_000);
  liveness.doubt(remote); // nothing is open
  expect([probes(), vi.getTimerCount()]).toEqual([0, 0]);
  open();
  hear();
  liveness.doubt(remote);
  liveness.doubt(remote);
  expect(probes()).toBe(1); // what came before is no answer
  hear();
  vi.advanceTimersByTime(2000);
  liveness.doubt(remote);
  deafen(true);
  vi.advanceTimersByTime(2000);
  expect(log).toEqual([]);
  deafen(false);
  vi.advanceTimersByTime(2000);
  expect(log).toEqual([
    expect.stringMatching(
      /^\d+ lost: a connection of its program has ended, and nothing has come from it for 1000 ms$/,
    ),
  ]);
  liveness.doubt(remote);
  vi.advanceTimersByTime(2000);
  expect([log.length, probes()]).toEqual([1, 2]);
  peer.state = 'connected';
  peer.hasEnded = true;
  liveness.doubt(remote);
  expect(log[1]).toMatch(/lost: its process or worker has ended$/);
});

test('a peer whose answer a check has seen is not lost, and nor is one with which nothing is open', () => {
  const { liveness, remote, open, hear, log, peer } = checked();
  open();
  liveness.doubt(remote);
  hear();
  vi.advanceTimersByTime(LIMIT / 10); // the check
  hear();
  vi.advanceTimersByTime(600);
  hear();
  vi.advanceTimersByTime(600);
  expect(peer.state).not.toBe('lost');
  liveness.doubt(remote);
  peer.life.open = 0;
  vi.advanceTimersByTime(5000);
  expect(log.filter((line) => line.includes('lost'))).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('time in which this process or its event loop was stopped does not count', () => {
  const { open, log } = checked();
  open();
  vi.advanceTimersByTime(100);
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockReturnValue(now + 60_000);
  vi.advanceTimersByTime(200);
  expect(log).toEqual([]);
  clock.mockRestore();
});

test('time in which this engine can read nothing does not count', () => {
  const { open, log, deafen } = checked();
  open();
  deafen(true);
  vi.advanceTimersByTime(10 * LIMIT);
  expect(log).toEqual([]);
  deafen(false);
  vi.advanceTimersByTime(LIMIT);
  expect(log.length).toBe(2);
});

test('errors of all rails make a peer lost, also if silence shows nothing', () => {
  const { liveness, remote, open, log, probes, peer } = checked(Number.POSITIVE_INFINITY);
  open();
  vi.advanceTimersByTime(100_000);
  liveness.cut(remote, 'no route');
  vi.advanceTimersByTime(1000);
  liveness.reached(remote);
  vi.advanceTimersByTime(5000);
  expect(log).toEqual([]);
  liveness.cut(remote, 'no route');
  vi.advanceTimersByTime(3000);
  expect(peer.state).toBe('lost');
  expect(log[0]).toMatch(/lost: no rail reaches it: no route$/);
  liveness.back(remote); // its messages still arrive
  expect(peer.state).toBe('lost');
  liveness.reached(remote);
  expect(log[1]).toMatch(/connected: a rail reaches it again$/);
  expect(probes()).toBe(0);
});

test('what is opened with a lost peer has the whole time', () => {
  const { open, log, peer } = checked();
  open();
  vi.advanceTimersByTime(LIMIT);
  peer.life.open = 0;
  vi.advanceTimersByTime(LIMIT);
  expect(log.length).toBe(2);
  open();
  vi.advanceTimersByTime(750);
  expect(log.length).toBe(2);
  vi.advanceTimersByTime(250);
  expect(log[2]).toMatch(/lost: nothing has come/);
});

test('a peer that was forgotten is not checked', () => {
  const { open, log, peer } = checked();
  open();
  peer.life.isForgotten = true;
  vi.advanceTimersByTime(10 * LIMIT);
  expect(log).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
