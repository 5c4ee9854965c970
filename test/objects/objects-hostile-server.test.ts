// libfabric/objects: a server that answers what no server should. Each call ends with a code, and nothing is allocated for
// what the server claims.
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { ObjectClient } from 'libfabric/objects';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { encodeMessage } from '../../dist/objects/channel.js';
import { listed, listOf, OBJECT } from '../support/foreign-server.js';
import { openEngine, TCP } from '../support/object-stores.js';

async function urlOf(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${Object(server.address()).port}/b`;
}

const answering = (answer: (response: ServerResponse) => void) =>
  urlOf(createServer((_request, response) => answer(describing(response))));

/** Lets an answer be about an object. */
const describing = (response: ServerResponse) =>
  response.setHeaders(new Map(Object.entries(OBJECT)));

type Calls = readonly ((client: ObjectClient) => Promise<unknown>)[];

const HEAD: Calls = [(client) => client.head('a')];
const GET: Calls = [(client) => client.get('a'), (client) => client.stream('a').next()];
const LIST: Calls = [(client) => client.list().next()];

const answers: [string, Calls, (response: ServerResponse) => void, string | undefined][] = [
  [
    'a length that is no number',
    [...HEAD, ...GET],
    (response) => response.setHeader('x-libfabric-length', 'x').end(),
    'InvalidAnswer',
  ],
  [
    'a negative length',
    [...HEAD, ...GET],
    (response) => response.setHeader('x-libfabric-length', '-1').end(),
    'InvalidAnswer',
  ],
  [
    'a length of a petabyte',
    [(client) => client.get('a')],
    (response) => response.setHeader('x-libfabric-length', '1000000000000000').end(),
    'ERR_OUT_OF_RANGE',
  ],
  [
    'a description of a terabyte',
    HEAD,
    (response) => response.setHeader('content-length', '1000000000000').end(),
    undefined,
  ],
  [
    'a body that ends early',
    [(client) => client.get('a')],
    (response) => {
      response.setHeader('content-length', '3000000000').write('x');
      setImmediate(() => response.destroy());
    },
    'ECONNRESET',
  ],
  [
    'a list with a malformed key',
    LIST,
    (response) => response.end(listOf(listed('%', { EncodingType: 'url' }))),
    'InvalidAnswer',
  ],
  [
    'a list that is cut off',
    LIST,
    (response) => response.end(listOf('<Contents>')),
    'InvalidAnswer',
  ],
];

test.each(answers)('%s', async (_what, calls, answer, code) => {
  const allocate = vi.spyOn(Buffer, 'allocUnsafeSlow');
  onTestFinished(() => allocate.mockRestore());
  const client = new ObjectClient(await answering(answer));
  for (const call of calls) {
    if (code === undefined) await call(client);
    else await expect(call(client)).rejects.toMatchObject({ code });
  }
  const lengths = allocate.mock.calls.map(([length]) => length);
  if (code !== 'ERR_OUT_OF_RANGE') expect(lengths.filter((each) => each > 2 ** 25)).toEqual([]);
  await client.close();
});

describe('what the server says of its engine', () => {
  test.each([
    ['null', 'null'],
    ['a number', '5'],
    ['no JSON', '{'],
    ['no length of pieces', '{"address":"x"}'],
    ['pieces of a text', '{"address":"x","piece":"4096"}'],
    ['pieces of no bytes', '{"address":"x","piece":0}'],
    ['pieces of a terabyte', '{"address":"x","piece":1099511627776}'],
    ['an address that is no text', '{"address":5,"piece":4096}'],
    ['more than an address', `{"address":"${'x'.repeat(2 ** 20)}"`],
  ])('%s: the client uses HTTP', async (_what, welcome) => {
    const server = createServer((request, response) =>
      describing(response).end(request.url?.startsWith('/.libfabric') ? welcome : 'bytes'),
    );
    const client = new ObjectClient(await urlOf(server), { engine: await openEngine(TCP) });
    expect(Buffer.from((await client.get('a')).bytes).toString()).toBe('bytes');
    await client.close();
  });

  test('the buffers of a client have at most 4 MiB', async () => {
    const [engine, other] = [await openEngine(TCP), await openEngine(TCP)];
    const welcome = JSON.stringify({ address: other.address, piece: 2 ** 30 });
    const server = createServer((request, response) =>
      describing(response).end(request.url?.startsWith('/.libfabric') ? welcome : 'bytes'),
    );
    const pool = vi.spyOn(engine, 'pool');
    const client = new ObjectClient(await urlOf(server), { engine });
    await client.get('a');
    expect(pool.mock.calls).toEqual([[{ size: 4 * 2 ** 20, count: 8 }]]);
    await client.close();
  });
});

describe('a channel that answers', () => {
  const framed = (message: Buffer) => {
    message.writeUInt32LE(message.length - 4, 0);
    return message;
  };
  const withHead = (head: unknown) => framed(encodeMessage(1, head as never));
  const noJson = withHead('x');
  noJson.write('!', noJson.length - 1);

  const tooLong = Buffer.alloc(4);
  tooLong.writeUInt32LE(32 * 2 ** 20 + 1);

  test.each<[string, Buffer, string?]>([
    ['a head that is no JSON', noJson],
    ['a head that is null', withHead(null)],
    ['a head that is an object', withHead({})],
    ['a status that is a text', withHead(['200', {}])],
    ['no fields', withHead([200])],
    ['fields that are no texts', withHead([200, { etag: 5 }])],
    ['no head', framed(Buffer.alloc(8))],
    ['more than 32 MiB', tooLong, 'EMSGSIZE'],
  ])('%s ends the call', async (_what, message, code = 'EPROTO') => {
    const [engine, other] = [await openEngine(TCP), await openEngine(TCP)];
    const server = createServer((_request, response) =>
      response.end(JSON.stringify({ address: other.address, piece: 4096 })),
    );
    server.on('upgrade', (_request, socket) => {
      socket.on('error', () => {});
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: libfabric-objects\r\n\r\n',
      );
      socket.once('data', () => socket.write(message));
    });
    const client = new ObjectClient(await urlOf(server), { engine });
    await expect(client.get('a')).rejects.toMatchObject({ code });
    await client.close();
  });
});
