// Streams of libfabric/net over several NICs, of which some are lost.
import '../support/four-nics.js';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type FaultOptions, SoftefaFaults } from 'libfabric/softefa';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect, type FabricSocket } from '../../dist/net/index.js';
import { pattern } from '../support/bytes.js';
import { namespace, withSoftefa } from '../support/softefa.js';

const program = fileURLToPath(new URL('../programs/net-echo-server.mjs', import.meta.url));
const SIZE = 32 << 20;
const bytes = pattern(SIZE);

let faults: SoftefaFaults;
beforeEach(() => {
  faults = new SoftefaFaults({ namespace });
});
afterEach(() => faults.close());

/** A socket to a server of another host, which sends back what it gets. */
async function echo(options: object = {}): Promise<FabricSocket> {
  const child = fork(program, [JSON.stringify({ provider: 'efa', ...options })], {
    execArgv: [],
    env: withSoftefa({ nics: 4, node: 1 }),
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [{ port }] = await once(child, 'message');
  const socket = connect({ port, host: '127.0.0.1', provider: 'efa', ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Sends everything, and checks what comes back. `halfway` is called in the middle. */
async function exchange(socket: FabricSocket, halfway: () => void): Promise<void> {
  let read = 0;
  let isRight = true;
  const done = new Promise<void>((resolve, reject) => {
    socket.on('error', reject).on('data', (part: Buffer) => {
      isRight &&= part.equals(bytes.subarray(read, read + part.length));
      if (read < SIZE / 2 && read + part.length >= SIZE / 2) halfway();
      read += part.length;
      if (read === SIZE) resolve();
    });
  });
  socket.write(bytes);
  await done;
  expect(isRight).toBe(true);
}

const FAULTS = [
  ['portDown', {}],
  ['freeze', {}],
] as const satisfies [string, FaultOptions][];

describe.each([
  ['this side', 0],
  ['the peer', 1],
])('a NIC of %s is lost in mid-stream', (_name, node) => {
  test.each(FAULTS)('%s: the other one carries the rest', async (kind, options) => {
    const socket = await echo();
    let fell = false;
    socket.on('fallback', () => (fell = true));
    await exchange(socket, () => faults.add(kind, { node, nic: 0, ...options }));
    expect(fell).toBe(false);
  });
});
