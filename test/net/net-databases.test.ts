// Clients of databases run unmodified over the sockets of libfabric/net. A relay takes their bytes to the server.
import '../support/softefa.js';
import { once } from 'node:events';
import { AbstractConnector, Redis } from 'ioredis';
import mysql from 'mysql2';
import { createConnection, createPool } from 'mysql2/promise';
import pg from 'pg';
import {
  afterAll,
  beforeAll,
  describe,
  expect,
  onTestFinished,
  type TestContext,
  test,
} from 'vitest';
import type { FabricOptions, FabricSocket } from '../../dist/net/index.js';
import { pattern } from '../support/bytes.js';
import { type Program, startPostgres, startRedis } from '../support/net-programs.js';
import { asTcp, fabrics, relay, serve } from '../support/net-sockets.js';

const bytes = Buffer.from(pattern(2 ** 20));

describe('ioredis', () => {
  let server: Program | undefined;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.stop());

  async function service(context: TestContext, options: FabricOptions) {
    if (server === undefined) return context.skip('needs redis-server');
    const { open } = await relay(options, server.path);
    const sockets: FabricSocket[] = [];
    class Connector extends AbstractConnector {
      constructor() {
        super(1000);
      }
      async connect() {
        const socket = open();
        sockets.push(socket);
        this.stream = asTcp(socket);
        return this.stream;
      }
    }
    const client = () => {
      const redis = new Redis({ Connector, retryStrategy: () => 1 });
      onTestFinished(() => redis.disconnect());
      return redis;
    };
    return { client, sockets };
  }

  test.for(fabrics)(
    'over %s: commands, a pipeline and values of 1 MiB',
    async ([, options], context) => {
      const { client } = await service(context, options);
      const redis = client();
      await redis.set('large', bytes);
      expect((await redis.getBuffer('large'))?.equals(bytes)).toBe(true);
      const pipeline = redis.pipeline();
      for (let i = 0; i < 500; i++) pipeline.incr('counter');
      expect((await pipeline.exec())?.at(-1)).toEqual([null, 500]);
      await redis.flushall();
    },
  );

  test.for(fabrics)('over %s: messages of a subscription', async ([, options], context) => {
    const { client } = await service(context, options);
    const [publisher, subscriber] = [client(), client()];
    await subscriber.subscribe('news');
    const got = once(subscriber, 'message');
    expect(await publisher.publish('news', 'hello')).toBe(1);
    expect(await got).toEqual(['news', 'hello']);
  });

  test.for(fabrics)('over %s: it connects again after a loss', async ([, options], context) => {
    const { client, sockets } = await service(context, options);
    const redis = client();
    await redis.set('key', 'kept');
    sockets[0]?.resetAndDestroy();
    expect(await redis.get('key')).toBe('kept');
    expect(sockets.length).toBe(2);
  });
});

describe('pg', () => {
  let server: Program | undefined;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  async function service(context: TestContext, options: FabricOptions) {
    if (server === undefined) return context.skip('needs postgres, and a user that may run it');
    const { open } = await relay(options, server.path);
    return { user: 'tester', database: 'postgres', stream: () => open() };
  }

  test.for(fabrics)(
    'over %s: parameters, values of 1 MiB and errors',
    async ([, options], context) => {
      const client = new pg.Client(await service(context, options));
      await client.connect();
      const { rows } = await client.query('select $1::bytea as value, $2::int + 1 as sum', [
        bytes,
        4,
      ]);
      expect([bytes.equals(rows[0].value), rows[0].sum]).toEqual([true, 5]);
      await expect(client.query('select nothing')).rejects.toMatchObject({ code: '42703' });
      const many = await client.query('select i from generate_series(1, 20000) i');
      expect(many.rows.at(-1)).toEqual({ i: 20_000 });
      await client.end();
    },
  );

  test.for(fabrics)(
    'over %s: a pool, transactions and notifications',
    async ([, options], context) => {
      const pool = new pg.Pool({ ...(await service(context, options)), max: 4 });
      const sums = Array.from({ length: 40 }, async (_, i) => {
        const { rows } = await pool.query('select $1::int * 2 as twice', [i]);
        return rows[0].twice;
      });
      expect(await Promise.all(sums)).toEqual(Array.from({ length: 40 }, (_, i) => 2 * i));
      expect(pool.totalCount).toBe(4);
      const listener = await pool.connect();
      await listener.query('listen news');
      const got = once(listener, 'notification');
      const client = await pool.connect();
      await client.query('begin');
      await client.query(`notify news, 'hello'`);
      await client.query('commit');
      expect(await got).toMatchObject([{ channel: 'news', payload: 'hello' }]);
      client.release();
      listener.release();
      await pool.end();
    },
  );
});

describe('mysql2', () => {
  const column = {
    ...{ catalog: 'def', schema: 'test', table: 't', orgTable: 't', name: 'text', orgName: 'text' },
    ...{ characterSet: 33, columnLength: 2 ** 24, columnType: mysql.Types.VAR_STRING },
    ...{ flags: 0, decimals: 0 },
  };

  /** mysql2 is also the server. It answers each query with its text. */
  async function service(options: FabricOptions) {
    const { open } = await serve(options, (stream) => {
      const connection = mysql.createConnection({ isServer: true, stream });
      connection.on('error', () => {});
      // Each command counts its packets from 0.
      const answered = () => {
        connection.sequenceId = 0;
      };
      connection.on('query', (text: string) => {
        if (text === 'fail') connection.writeError({ code: 1064, message: 'a syntax error' });
        else connection.writeTextResult([{ text }], [column]);
        answered();
      });
      connection.serverHandshake({
        ...{ protocolVersion: 10, serverVersion: '8.0.0', connectionId: 1, statusFlags: 2 },
        ...{ characterSet: 8, capabilityFlags: 0xffffff & ~0x20 }, // without compression
        authCallback: (_user: unknown, accept: (error: null) => void) => {
          accept(null);
          answered();
        },
      });
    });
    return { user: 'tester', stream: () => open() };
  }

  test.for(fabrics)('over %s: queries, results of 1 MiB and errors', async ([, options]) => {
    const client = await createConnection(await service(options));
    expect((await client.query('select 1'))[0]).toEqual([{ text: 'select 1' }]);
    const text = 'select '.padEnd(2 ** 20, 'x');
    const [[row]] = await client.query<mysql.RowDataPacket[]>(text);
    expect(row?.text === text).toBe(true);
    await expect(client.query('fail')).rejects.toMatchObject({ errno: 1064 });
    await client.end();
  });

  test.for(fabrics)('over %s: a pool', async ([, options]) => {
    const pool = createPool({ ...(await service(options)), connectionLimit: 3 });
    const texts = Array.from({ length: 30 }, (_, i) => `select ${i}`);
    const answers = await Promise.all(texts.map((text) => pool.query(text)));
    expect(answers.map(([rows]) => rows)).toEqual(texts.map((text) => [{ text }]));
    await pool.end();
  });
});
