// The messages that this package exchanges with fabtests if addresses are exchanged in band. A scripted peer
// acts as fabtests.

import { createSocket } from 'node:dgram';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { exchangeAddresses } from '../../../../dist/cli/fabtests/common/address-exchange.js';
import { chooseSettings } from '../../../../dist/cli/fabtests/common/choose-settings.js';
import { dialectOf } from '../../../../dist/cli/fabtests/common/dialect.js';
import { OobSocket } from '../../../../dist/cli/fabtests/common/oob.js';
import {
  addTestOptions,
  type Flags,
  TestCommand,
} from '../../../../dist/cli/fabtests/common/options.js';
import { pattern } from '../../../../dist/cli/fabtests/common/pattern.js';
import { decodeKeys, encodeKeys } from '../../../../dist/cli/fabtests/common/rma.js';
import { Session } from '../../../../dist/cli/fabtests/common/session.js';
import type { Settings } from '../../../../dist/cli/fabtests/common/settings.js';
import { start } from '../../../support/command.js';
import { freePort } from '../../../support/free-port.js';
import { stranger } from '../../../support/strangers.js';
import { cleanups, padded, rawEndpoint } from '../../../support/wire.js';

test.each([
  { when: 'after its write', early: false },
  { when: 'before its write is acknowledged', early: true },
])('in band, client: address, keys, a write, and a final message $when', async ({ early }) => {
  const port = String(await freePort());
  const ep = await rawEndpoint('tcp', ['FI_MSG', 'FI_RMA'], port);
  const first = new Uint8Array(256);
  const firstReceived = ep.recv(first);
  const client = start([
    ...['rma-bw', '-p', 'tcp', '-P', port, '-S', '16', '-w', '0', '-I', '1'],
    ...['--fabtests', '1.17', ...(early ? ['-U'] : []), '127.0.0.1'],
  ]);
  expect((await firstReceived).length).toBe(256);
  const peer = ep.av.insert(first.subarray(0, ep.address.length));
  await ep.send(new Uint8Array(1), peer);
  // Keys: address, length, key. Then a byte in each direction, twice: after the keys, and for the size.
  const region = await ep.domain.allocate(4096, ['FI_REMOTE_WRITE']);
  const keys = new Uint8Array(256);
  const keysReceived = ep.recv(keys);
  await ep.send(new Uint8Array(encodeKeys(region)), peer);
  expect((await keysReceived).length).toBe(24);
  expect(decodeKeys(keys, 0).key).toBeGreaterThanOrEqual(0n);
  for (let sync = 0; sync < 2; sync++) {
    expect((await ep.recv(new Uint8Array(256))).length).toBe(1);
    const answer = ep.send(new Uint8Array(1), peer);
    // tcp then reports the write after this message.
    if (early && sync === 1) await ep.send(new Uint8Array(4), peer);
    await answer;
  }
  // One write to the start of the region, without an event. Then 4 bytes in each direction.
  expect((await ep.recv(new Uint8Array(256))).length).toBe(4);
  expect(Buffer.from(region.bytes.subarray(0, 20))).toEqual(padded(pattern(16), 20));
  if (!early) await ep.send(new Uint8Array(4), peer);
  expect((await client.ended).code).toBe(0);
});

type SendDatagram = (
  text: string,
  port: number,
  host: string,
  done: (error: unknown) => void,
) => void;

/** Opens one side of dgram-pingpong. Addresses are exchanged in band, and synchronization is out of band. */
async function datagramSide(oobPort: number, more: Partial<Settings>) {
  const kind = { command: 'dgram-pingpong', type: 'FI_EP_DGRAM', oobSync: true } as const;
  const command = addTestOptions(new TestCommand(kind.command));
  command.parse(['-p', 'udp', '-S', '64'], { from: 'user' });
  const settings = chooseSettings(kind, command.opts<Flags>(), undefined, {
    argv: [],
    clientArgv: [],
  });
  const session = await Session.open({ ...settings, oobPort, ...more }, { caps: ['FI_MSG'] });
  cleanups.push(() => session.close());
  return session;
}

test('2.x, dgram-pingpong in band, client: sends its handshake before its first message', async () => {
  const [port, oobPort] = [String(await freePort()), await freePort()];
  const ep = await rawEndpoint('udp', ['FI_MSG'], port);
  const accepted = OobSocket.accept(oobPort, '127.0.0.1');
  const destination = { host: '127.0.0.1', destinationPort: port, release: '2.6' };
  const session = await datagramSide(oobPort, destination);
  const oob = await accepted;
  cleanups.push(() => oob.close());
  const exchanged = exchangeAddresses(session);
  oob.send(Buffer.alloc(4));
  expect(await oob.receive(4)).toEqual(Buffer.alloc(4));
  const first = new Uint8Array(256);
  expect((await ep.recv(first)).length).toBe(256);
  await ep.send(new Uint8Array(1), ep.av.insert(first.subarray(0, ep.address.length)));
  await exchanged;
  expect(session.dialect.release).toBe(206);
});

test.each([
  { release: '2.6', handshake: true },
  { release: '1.17', handshake: false },
])(
  '$release, dgram-pingpong in band, server: handshake: $handshake',
  async ({ release, handshake }) => {
    const [port, oobPort] = [String(await freePort()), await freePort()];
    const opened = datagramSide(oobPort, { sourceAddress: '127.0.0.1', sourcePort: port });
    const oob = await OobSocket.connect(oobPort, '127.0.0.1', 20_000);
    cleanups.push(() => oob.close());
    // Others connect, too, and send datagrams.
    await stranger(oobPort);
    await stranger(oobPort, Buffer.from('GET / HTTP/1.1\r\n\r\n'));
    const session = await opened;
    const ep = await rawEndpoint('udp', ['FI_MSG']);
    const exchanged = exchangeAddresses(session);
    const datagram = createSocket('udp4');
    cleanups.push(() => datagram.close());
    await promisify(datagram.send.bind(datagram) as SendDatagram)(
      'garbage',
      Number(port),
      '127.0.0.1',
    );
    if (handshake) {
      oob.send(Buffer.alloc(4));
      expect(await oob.receive(4)).toEqual(Buffer.alloc(4));
    }
    const answer = ep.recv(new Uint8Array(256));
    await ep.send(Buffer.from(ep.address), ep.av.insert(session.ep.address));
    expect((await answer).length).toBe(1);
    await exchanged;
    expect(session.dialect.release).toBe(dialectOf(release).release);
    oob.send(Buffer.from('a'));
    await session.sync();
    expect(String(await oob.receive(1))).toBe('a');
  },
);
