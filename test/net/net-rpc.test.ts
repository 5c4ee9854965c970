// gRPC runs unmodified over the sockets of libfabric/net: both sides upgrade the connection that gRPC makes.
import '../support/softefa.js';
import { once } from 'node:events';
import * as tcp from 'node:net';
import type { Duplex } from 'node:stream';
import * as tls from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type FabricOptions, type FabricSocket, upgrade } from '../../dist/net/index.js';
import { pattern } from '../support/bytes.js';
import { TEST_CERT, TEST_KEY } from '../support/certificate.js';
import { asTcp, fabrics } from '../support/net-sockets.js';

const asIs = (bytes: Buffer) => bytes;
const method = (path: string, isStream: boolean): grpc.MethodDefinition<Buffer, Buffer> => ({
  path: `/Echo/${path}`,
  requestStream: isStream,
  responseStream: isStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});
const ECHO = { call: method('Call', false), stream: method('Stream', true) };

const echo: grpc.UntypedServiceImplementation = {
  call(call: grpc.ServerUnaryCall<Buffer, Buffer>, answer: grpc.sendUnaryData<Buffer>) {
    const [code] = call.metadata.get('fails-with');
    if (code === undefined) answer(null, call.request);
    else answer({ code: Number(code), details: 'as asked' });
  },
  stream: ((call: Duplex) => call.pipe(call)) as never, // declared for messages, not for bytes
};

interface Echo {
  call(
    bytes: Buffer,
    metadata: grpc.Metadata,
    answer: grpc.requestCallback<Buffer>,
  ): grpc.ClientUnaryCall;
  stream(): grpc.ClientDuplexStream<Buffer, Buffer>;
}

/** Upgrades the connection that other credentials have made. */
class FabricCredentials extends grpc.ChannelCredentials {
  readonly sockets: FabricSocket[] = [];

  constructor(
    private readonly options: FabricOptions,
    private readonly others: grpc.ChannelCredentials,
  ) {
    super();
  }

  override _isSecure(): boolean {
    return this.others._isSecure();
  }

  override _equals(other: grpc.ChannelCredentials): boolean {
    return other === this;
  }

  override _createSecureConnector(
    ...args: Parameters<grpc.ChannelCredentials['_createSecureConnector']>
  ): ReturnType<grpc.ChannelCredentials['_createSecureConnector']> {
    const connector = this.others._createSecureConnector(...args);
    return {
      connect: async (raw) => {
        const { socket, secure } = await connector.connect(raw);
        const upgraded = await upgrade(socket, this.options);
        this.sockets.push(upgraded);
        return { socket: asTcp(upgraded), secure };
      },
      waitForReady: () => connector.waitForReady(),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy: () => connector.destroy(),
    };
  }
}

/** Serves until the test ends. */
async function service(
  options: FabricOptions,
  listener = tcp.createServer(),
  others = grpc.credentials.createInsecure(),
) {
  const server = new grpc.Server();
  server.addService(ECHO, echo);
  const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
  const event = listener instanceof tls.Server ? 'secureConnection' : 'connection';
  listener.on(event, (raw: tcp.Socket) => {
    upgrade(raw, options).then(
      (socket) => injector.injectConnection(asTcp(socket)),
      () => raw.destroy(),
    );
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => {
    listener.close();
    server.forceShutdown();
  });
  const credentials = new FabricCredentials(options, others);
  const Client = grpc.makeGenericClientConstructor(ECHO, 'Echo');
  const { port } = listener.address() as tcp.AddressInfo;
  const client = new Client(`localhost:${port}`, credentials);
  onTestFinished(() => client.close());
  return { echo: client as unknown as Echo, channel: client.getChannel(), credentials };
}

function call(echo: Echo, bytes: Buffer, metadata = new grpc.Metadata()): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    echo.call(bytes, metadata, (error, answer) => {
      if (answer) resolve(answer);
      else reject(error);
    });
  });
}

describe.each(fabrics)('over %s', (_name, options) => {
  test('unary calls: 3 MB, many at once, and the status of a failure', async () => {
    const { echo, credentials } = await service(options);
    const large = Buffer.from(pattern(3_000_000));
    expect((await call(echo, large)).equals(large)).toBe(true);
    const texts = Array.from({ length: 100 }, (_, i) => `call ${i}`);
    const answers = await Promise.all(texts.map((text) => call(echo, Buffer.from(text))));
    expect(answers.map(String)).toEqual(texts);
    const metadata = new grpc.Metadata();
    metadata.set('fails-with', String(grpc.status.NOT_FOUND));
    await expect(call(echo, large, metadata)).rejects.toMatchObject({
      code: grpc.status.NOT_FOUND,
      details: 'as asked',
    });
    expect(credentials.sockets.length).toBe(1);
  });

  test('a stream in both directions: 500 messages, and 16 of 256 KiB at once', async () => {
    const { echo } = await service(options);
    const stream = echo.stream();
    const sizes = [
      ...Array.from({ length: 500 }, (_, i) => i),
      ...Array.from({ length: 16 }, () => 2 ** 18),
    ];
    const bytes = Buffer.from(pattern(2 ** 18));
    for (const size of sizes) stream.write(bytes.subarray(0, size));
    stream.end();
    const got: Buffer[] = await stream.toArray();
    expect(got.map(({ length }) => length)).toEqual(sizes);
    expect(got.every((each) => each.equals(bytes.subarray(0, each.length)))).toBe(true);
  });

  test('a channel connects again after its connection was lost', async () => {
    const { echo, channel, credentials } = await service(options);
    await call(echo, Buffer.from('first'));
    const [socket] = credentials.sockets as [FabricSocket];
    const isLost = new Promise((resolve) => {
      const { READY } = grpc.connectivityState;
      channel.watchConnectivityState(READY, Number.POSITIVE_INFINITY, resolve);
    });
    socket.resetAndDestroy();
    await isLost;
    expect(String(await call(echo, Buffer.from('second')))).toBe('second');
    expect(credentials.sockets.length).toBe(2);
  });
});

test('TLS: the channel verifies the certificate of the server before it upgrades', async () => {
  const [, options] = fabrics[0]!;
  const listener = () =>
    tls.createServer({ key: TEST_KEY, cert: TEST_CERT, ALPNProtocols: ['h2'] });
  const trusting = grpc.credentials.createSsl(TEST_CERT);
  const { echo, credentials } = await service(options, listener(), trusting);
  expect(String(await call(echo, Buffer.from('verified')))).toBe('verified');
  expect(credentials.sockets.map(({ authorized }) => authorized)).toEqual([true]);
  const other = await service(options, listener(), grpc.credentials.createSsl());
  await expect(call(other.echo, Buffer.from('not sent'))).rejects.toMatchObject({
    code: grpc.status.UNAVAILABLE,
  });
  expect(other.credentials.sockets).toEqual([]);
});
