// Clients and brokers of messages run unmodified over the sockets of libfabric/net.
import '../support/softefa.js';
import { once } from 'node:events';
import * as http from 'node:http';
import {
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
  wsconnect,
} from '@nats-io/transport-node';
import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';
import { Aedes } from 'aedes';
import { type IClientOptions, MqttClient } from 'mqtt';
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  type TestContext,
  test,
} from 'vitest';
import { createWebSocketStream, WebSocket, WebSocketServer } from 'ws';
import {
  attach,
  FabricAgent,
  type FabricOptions,
  type FabricSocket,
} from '../../dist/net/index.js';
import { pattern } from '../support/bytes.js';
import { NatsBroker } from '../support/nats-broker.js';
import { type Program, startMosquitto } from '../support/net-programs.js';
import { asTcp, fabrics, listen, relay, serve } from '../support/net-sockets.js';

const bytes = Buffer.from(pattern(2 ** 20));

describe('MQTT.js', () => {
  let mosquitto: Program | undefined;
  beforeAll(async () => {
    mosquitto = await startMosquitto();
  });
  afterAll(() => mosquitto?.stop());

  const brokers = {
    async aedes(_context: TestContext, options: FabricOptions) {
      const broker = await Aedes.createBroker();
      onTestFinished(() => new Promise<void>((resolve) => broker.close(resolve)));
      return serve(options, (socket) => void broker.handle(socket));
    },
    async mosquitto(context: TestContext, options: FabricOptions) {
      if (mosquitto === undefined) return context.skip('needs mosquitto');
      return relay(options, mosquitto.path);
    },
  };

  /** A client, and the sockets that it has opened. */
  function clientOf(open: () => FabricSocket, options: IClientOptions = {}) {
    const sockets: FabricSocket[] = [];
    const builder = () => {
      const socket = open();
      sockets.push(socket);
      return asTcp(socket);
    };
    const client = new MqttClient(builder, { reconnectPeriod: 1, ...options });
    onTestFinished(() => void client.end(true));
    return { client, sockets };
  }

  describe.each(Object.entries(brokers))('with %s', (_broker, start) => {
    describe.each(fabrics)('over %s', (_name, options) => {
      test('messages of each quality of service, up to 1 MiB', async (context) => {
        const { open } = await start(context, options);
        const [{ client: publisher }, { client: subscriber }] = [clientOf(open), clientOf(open)];
        await subscriber.subscribeAsync('news/#', { qos: 2 });
        const got: [topic: string, payload: Buffer][] = [];
        const all = new Promise<void>((resolve) => {
          subscriber.on('message', (topic, payload) => {
            if (got.push([topic, payload]) === 9) resolve();
          });
        });
        for (const qos of [0, 1, 2] as const) {
          for (const size of [0, 1000, bytes.length]) {
            await publisher.publishAsync(`news/${qos}/${size}`, bytes.subarray(0, size), { qos });
          }
        }
        await all;
        for (const [topic, payload] of got) {
          const size = Number(topic.split('/').at(-1));
          expect(payload.equals(bytes.subarray(0, size))).toBe(true);
        }
        expect(new Set(got.map(([topic]) => topic)).size).toBe(9);
      });

      test('a client connects again after a loss, and its session goes on', async (context) => {
        const { open } = await start(context, options);
        const session = { clientId: 'stays', clean: false };
        const { client, sockets } = clientOf(open, session);
        const { client: publisher } = clientOf(open);
        await client.subscribeAsync('kept', { qos: 1 });
        const got = new Promise((resolve) => {
          client.once('message', (topic, payload) => resolve([topic, payload.toString()]));
        });
        const again = new Promise<void>((resolve) => client.once('connect', () => resolve()));
        sockets[0]?.resetAndDestroy();
        await again;
        await publisher.publishAsync('kept', 'after the loss', { qos: 1 });
        expect(await got).toEqual(['kept', 'after the loss']);
      });
    });
  });
});

describe.each(fabrics)('NATS over %s', (_name, options) => {
  const servers = 'nats.test:4222';

  /** Publishes, asks, and sends 1 MiB. */
  async function check(connect: () => Promise<NatsConnection>): Promise<void> {
    const [client, service] = [await connect(), await connect()];
    service.subscribe('twice', {
      callback: (_error, message) => {
        message.respond(`${message.string()}${message.string()}`);
      },
    });
    const news = service.subscribe('news', { max: 1000 });
    await service.flush();
    expect((await client.request('twice', 'ab')).string()).toBe('abab');
    for (let i = 0; i < 999; i++) client.publish('news', `message ${i}`);
    client.publish('news', bytes);
    const got: Uint8Array[] = [];
    for await (const { data } of news) got.push(data);
    expect(Buffer.from(got[998]!).toString()).toBe('message 998');
    expect(bytes.equals(got[999]!)).toBe(true);
    await Promise.all([client.close(), service.close()]);
  }

  test('by a transport whose dial() returns a socket', async () => {
    const broker = new NatsBroker();
    const { open } = await serve(options, (socket) => broker.handle(socket));
    class Transport extends NodeTransport {
      override async dial() {
        const socket = open();
        await once(socket, 'connect');
        return asTcp(socket);
      }
    }
    setTransportFactory({ factory: () => new Transport() });
    await check(() => NatsConnectionImpl.connect({ servers }));
  });

  test('by wsconnect() and the WebSocket of an agent', async () => {
    const broker = new NatsBroker();
    const server = http.createServer();
    const sockets = new WebSocketServer({ server });
    sockets.on('connection', (socket) => broker.handle(createWebSocketStream(socket)));
    attach(server, options);
    const port = await listen(server);
    const agent = new FabricAgent(options);
    onTestFinished(() => agent.destroy());
    const wsFactory = async () => {
      const socket = new WebSocket(`ws://127.0.0.1:${port}`, { agent });
      return { socket: socket as never, encrypted: false };
    };
    await check(() => wsconnect({ servers, wsFactory }));
  });
});
