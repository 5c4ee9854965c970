// The messages between ranks and the hub at rank 0.

/** The version of this protocol. Ranks of another version are refused. */
export const PROTOCOL = 1;

/** The longest message, in bytes. The addresses of a thousand ranks are well below it. */
export const LONGEST_MESSAGE = 2 ** 26;

/** Milliseconds between heartbeats. */
export const HEARTBEAT_INTERVAL = 500;

/** Seconds without a heartbeat after which a process counts as gone. */
export const silenceOf = (timeout: number) => Math.max(timeout, (4 * HEARTBEAT_INTERVAL) / 1000);

/** The options of a measurement that must be the same at every rank. */
export type Plan = Readonly<Record<string, string | number | boolean>>;

/** A rank's first message. */
export interface Hello {
  readonly type: 'hello';
  readonly libfabric: 'ranks';
  readonly protocol: number;
  readonly rank: number;
  readonly ranks: number;
  readonly host: string;
  readonly pid: number;
  readonly plan: Plan;
}

/** From a rank to the hub. */
export type FromRank =
  | Hello
  /**
   * A rank's value for share() or collect(). With `everyone` all ranks get the values, otherwise
   * only rank 0.
   */
  | { readonly type: 'part'; readonly value: unknown; readonly everyone: boolean }
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'alive' }
  | { readonly type: 'bye' };

/** From the hub to a rank. */
export type FromHub =
  /** All ranks have contributed. `values` are in the order of ranks. */
  | { readonly type: 'collected'; readonly values?: readonly unknown[] }
  /** The measurement has ended: a rank has failed, or the ranks do not match. */
  | { readonly type: 'over'; readonly reason: string; readonly interrupted: boolean }
  | { readonly type: 'alive' };

/** Why a rank's first message does not match this measurement; undefined if it does. */
export function mismatchOf(hello: Hello, ranks: number, plan: Plan): string | undefined {
  const { protocol, rank } = hello;
  if (protocol !== PROTOCOL) {
    return `speaks version ${protocol} of the protocol of ranks, rank 0 version ${PROTOCOL}: install the same release of this package on all hosts`;
  }
  if (hello.ranks !== ranks) {
    return `was started as one of ${hello.ranks} ranks, rank 0 as one of ${ranks}`;
  }
  if (!Number.isInteger(rank) || rank < 0 || rank >= ranks) return `is not one of ${ranks} ranks`;
  const names = new Set([...Object.keys(plan), ...Object.keys(hello.plan)]);
  for (const name of names) {
    const [theirs, ours] = [hello.plan[name], plan[name]];
    if (theirs !== ours) {
      return `was started with other options than rank 0: ${name} is ${theirs}, not ${ours}`;
    }
  }
  return undefined;
}

/** Whether a message is a rank's first one. */
export function isHello(message: unknown): message is Hello {
  const { type, libfabric, protocol, rank, ranks, host, pid, plan } = message as Partial<Hello>;
  return (
    type === 'hello' &&
    libfabric === 'ranks' &&
    [protocol, rank, ranks, pid].every((number) => typeof number === 'number') &&
    typeof host === 'string' &&
    typeof plan === 'object' &&
    plan !== null &&
    Object.values(plan).every((value) => typeof value !== 'object')
  );
}
