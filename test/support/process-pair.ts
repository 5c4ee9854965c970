// Two processes on software EFA devices, and the transfers between them.
import { readFileSync } from 'node:fs';
import type { SoftefaOptions } from 'libfabric/softefa';
import { expectBytes, pattern } from './bytes.js';
import { OtherProcess, type Received } from './other-process.js';
import { withSoftefa } from './softefa.js';

const MIB = 2 ** 20;
/** One size for each protocol of the efa provider: eager, medium, long-CTS, long-read. */
const SIZES = [1, 4096, 20_000, 2 * MIB];

/** The options of one process. */
export interface ProcessOptions extends SoftefaOptions {
  readonly domain?: string;
  readonly variables?: NodeJS.ProcessEnv;
  readonly launcher?: readonly string[];
}

/** Starts two processes and connects them. */
export async function startPair(
  one: ProcessOptions,
  two: ProcessOptions,
): Promise<[OtherProcess, OtherProcess]> {
  const start = ({ domain, variables, launcher, ...device }: ProcessOptions) =>
    OtherProcess.start({
      provider: 'efa',
      env: { ...withSoftefa(device), ...variables },
      ...(domain !== undefined && { domain }),
      ...(launcher !== undefined && { launcher }),
    });
  const a = await start(one);
  const b = await start(two);
  await a.ask('connect', b.address, b.descriptor);
  await b.ask('connect', a.address, a.descriptor);
  return [a, b];
}

/** Transfers messages of every size, a write and a read, and checks every byte. */
export async function transfer(from: OtherProcess, to: OtherProcess, seed: number): Promise<void> {
  for (const size of SIZES) {
    const received = to.ask<Received>('recv', size);
    await from.ask('send', pattern(size, size + seed));
    expectBytes((await received).bytes, pattern(size, size + seed));
  }
  await from.ask('write', pattern(MIB, seed + 1));
  expectBytes(await to.ask<Uint8Array>('memory', MIB), pattern(MIB, seed + 1));
  await to.ask('fill', pattern(MIB, seed + 2));
  expectBytes(await from.ask<Uint8Array>('read', MIB), pattern(MIB, seed + 2));
}

/** Transfers in both directions. */
export async function transferAll(a: OtherProcess, b: OtherProcess): Promise<void> {
  await transfer(a, b, 10);
  await transfer(b, a, 20);
}

/** Reads a hw_counters file of a device's port. It may be up to a second old. */
export function portCounter(sysfs: string, name: string, nic = 0): number {
  const path = `${sysfs}/class/infiniband/softefa_${nic}/ports/1/hw_counters/${name}`;
  return Number(readFileSync(path, 'latin1'));
}

/** Sends until the sender's files count all earlier sends. Returns the path of the sender's sysfs. */
export async function upToDate(from: OtherProcess, to: OtherProcess, nic = 0): Promise<string> {
  const sysfs = await from.ask<string>('sysfs');
  const before = portCounter(sysfs, 'send_wrs', nic);
  do {
    const received = to.ask('recv', 1);
    await from.ask('send', new Uint8Array(1));
    await received;
  } while (portCounter(sysfs, 'send_wrs', nic) === before);
  return sysfs;
}
