import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { DomainOptions } from '../domain.js';
import type { Endpoint } from '../endpoint/compose.js';
import { open } from '../open.js';
import type { Peer } from '../peer.js';

/** How two processes that were started together tell each other their addresses. */
export interface Channel {
  send(value: unknown): void;
  receive(): Promise<unknown>;
  close(): void;
}

type Port = Pick<ChildProcess, 'send' | 'on'>;

function channelOf(port: Port, close: () => void): Channel {
  const received: unknown[] = [];
  const takers: ((value: unknown) => void)[] = [];
  port.on('message', (value) => {
    const taker = takers.shift();
    if (taker) taker(value);
    else received.push(value);
  });
  return {
    send: (value) => {
      port.send?.(value as never);
    },
    receive: async () =>
      received.length > 0 ? received.shift() : new Promise((resolve) => takers.push(resolve)),
    close,
  };
}

/** Starts this program once more, as the other side. */
export function startPeer(
  script: string,
  args: readonly string[],
): Channel & { ended: Promise<number> } {
  const child = fork(script, args, { serialization: 'advanced' });
  const channel = channelOf(child, () => child.disconnect());
  return { ...channel, ended: once(child, 'exit').then(([code]) => code ?? 1) };
}

/** The channel to the process that started this one. */
export function channelToParent(): Channel {
  return channelOf(process as unknown as Port, () => process.disconnect());
}

export type RmaEndpoint = Endpoint<'FI_EP_RDM', 'FI_MSG' | 'FI_RMA'>;

/** One of two processes that measure together. */
export interface Side {
  readonly role: 'client' | 'server';
  readonly ep: RmaEndpoint;
  readonly peer: Peer;
  readonly channel: Channel;
}

export interface SideOptions extends DomainOptions {
  readonly provider: string;
  readonly node?: string;
}

/** Opens an endpoint and finds the other side's. */
export async function openSide(
  role: Side['role'],
  channel: Channel,
  options: SideOptions,
): Promise<Side> {
  const ep = await open({ ...options, type: 'FI_EP_RDM', caps: ['FI_MSG', 'FI_RMA'] });
  const address = (await exchange(channel, ep.address)) as Uint8Array;
  return { role, ep, peer: ep.av.insert(address), channel };
}

/** Sends a value and returns the other side's. */
export async function exchange(channel: Channel, value: unknown): Promise<unknown> {
  channel.send(value);
  return channel.receive();
}

/** Waits until both sides have come here. */
export async function meet(side: Side): Promise<void> {
  await exchange(side.channel, 'here');
}

/**
 * How often to repeat what took the client `seconds` once: about a fifth of a second in all, and at
 * most 20,000 times, as fabtests do. Both sides get the client's answer.
 */
export async function agreeOnIterations(side: Side, seconds: number): Promise<number> {
  const target = 0.2;
  const own = Math.round(Math.min(20_000, Math.max(4, target / Math.max(seconds, 1e-9))));
  const theirs = (await exchange(side.channel, own)) as number;
  return side.role === 'client' ? own : theirs;
}

/** The seconds that something takes. */
export function timed(run: () => void): number {
  const start = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - start) / 1e9;
}
