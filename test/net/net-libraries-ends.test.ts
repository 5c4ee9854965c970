// Connections of node:http, node:http2 and node:tls over sockets that are reused, handed on, refused and destroyed. Each
// test runs over sockets of libfabric/net and of node:net.
import { once } from 'node:events';
import * as http from 'node:http';
import * as http2 from 'node:http2';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { casesOf } from '../support/cases.js';
import { TEST_CERT, TEST_KEY } from '../support/certificate.js';
import { closeOf, eventsOf, isQuick, libraries, type Socket } from '../support/net-libraries.js';

describe.each(casesOf(libraries, isQuick))('%s', (_name, { serve, open, unusedPort }) => {
  /** A server of node:http behind a server of sockets, and the number of its sockets. */
  async function service(answer: http.RequestListener) {
    const server = http.createServer(answer);
    let sockets = 0;
    const { port } = await serve({}, (socket) => {
      sockets += 1;
      server.emit('connection', socket);
    });
    return { server, port, sockets: () => sockets };
  }

  async function ask(options: http.RequestOptions): Promise<string> {
    const request = http.get({ host: 'service', ...options });
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    return Buffer.concat(await response.toArray()).toString();
  }

  describe('node:http', () => {
    test('an agent uses a connection again, and not after it was destroyed', async () => {
      const { port, sockets } = await service((request, response) => {
        response.end(request.url, () => {
          if (request.url === '/last') request.socket.destroy();
        });
      });
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      onTestFinished(() => agent.destroy());
      agent.createConnection = () => open(port);
      const used: Socket[] = [];
      for (const path of ['/', '/again', '/last', '/new']) {
        const request = http.get({ host: 'service', path, agent });
        const [response] = (await once(request, 'response')) as [http.IncomingMessage];
        const socket = request.socket as Socket;
        if (!used.includes(socket)) used.push(socket);
        expect(Buffer.concat(await response.toArray()).toString()).toBe(path);
        if (path === '/last' && !socket.closed) await once(socket, 'close');
      }
      expect([used.length, sockets()]).toEqual([2, 2]);
    });

    test('createConnection() may give its socket later, or an error', async () => {
      const { port } = await service((_request, response) => void response.end('later'));
      const later = (_options: unknown, done: (error: null, socket: Socket) => void) => {
        const socket = open(port);
        socket.once('connect', () => done(null, socket));
      };
      expect(await ask({ createConnection: later as never })).toBe('later');
      const never = (_options: unknown, done: (error: Error) => void) => {
        setImmediate(done, new Error('no socket'));
      };
      await expect(ask({ createConnection: never as never })).rejects.toThrow('no socket');
    });

    test('a connection that is refused is an error of the request', async () => {
      const port = await unusedPort();
      await expect(ask({ createConnection: () => open(port) })).rejects.toMatchObject({
        code: 'ECONNREFUSED',
      });
    });

    test('a server that destroys the socket before its answer is ECONNRESET', async () => {
      const { port } = await service((request) => void request.socket.destroy());
      await expect(ask({ createConnection: () => open(port) })).rejects.toMatchObject({
        code: 'ECONNRESET',
      });
    });

    test('a client that aborts closes the request of the server', async () => {
      const aborted = new Promise<string[]>((resolve) => {
        void service((request) => {
          const events = eventsOf(request, 'error');
          request.once('close', () => resolve(events));
          client.destroy();
        }).then(({ port }) => {
          client = http.request({ createConnection: () => open(port), method: 'POST' });
          client.on('error', () => {});
          client.write('not all');
        });
      });
      let client: http.ClientRequest;
      expect(await aborted).toEqual(['error']);
    });

    test('a socket whose first bytes were read is handed to a server', async () => {
      const server = http.createServer((request, response) => void response.end(request.url));
      const { port } = await serve({}, (socket) => {
        socket.once('readable', () => {
          const bytes = socket.read() as Buffer;
          expect(bytes.toString('latin1', 0, 4)).toBe('GET ');
          socket.unshift(bytes);
          server.emit('connection', socket);
        });
      });
      expect(await ask({ createConnection: () => open(port), path: '/head' })).toBe('/head');
    });

    test('a response that nobody reads stops its writer, and continues', async () => {
      const size = 30_000_000;
      let isStopped = false;
      const { port } = await service((_request, response) => {
        isStopped = !response.write(Buffer.alloc(size));
        response.end();
      });
      const request = http.get({ createConnection: () => open(port) });
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      expect(isStopped).toBe(true);
      let read = 0;
      for await (const bytes of response) read += bytes.length;
      expect(read).toBe(size);
    });
  });

  describe('node:http2', () => {
    async function http2Service(answer: (stream: http2.ServerHttp2Stream) => void) {
      const server = http2.createServer();
      server.on('stream', (stream) => answer(stream.on('error', () => {})));
      server.on('sessionError', () => {});
      const { port } = await serve({}, (socket) => server.emit('connection', socket));
      return { server, port };
    }

    function sessionOver(createConnection: () => unknown): http2.ClientHttp2Session {
      const session = http2.connect('http://service', {
        createConnection: createConnection as () => Socket,
      });
      onTestFinished(() => session.destroy());
      return session.on('error', () => {});
    }

    test('a socket that is destroyed ends its session and its streams', async () => {
      const { port } = await http2Service((stream) => void stream.respond({ ':status': 200 }));
      const socket = open(port);
      const session = sessionOver(() => socket);
      const stream = session.request().on('error', () => {});
      await once(stream, 'response');
      const closed = Promise.all([once(session, 'close'), once(stream, 'close')]);
      socket.destroy();
      await closed;
      expect([session.destroyed, stream.destroyed]).toEqual([true, true]);
    });

    test('a session that is destroyed destroys its socket', async () => {
      const { port } = await http2Service((stream) => void stream.respond({ ':status': 200 }));
      const socket = open(port);
      const session = sessionOver(() => socket);
      await once(session, 'connect');
      const closed = once(socket, 'close');
      session.destroy();
      await closed;
    });

    test('a session travels in a stream of another one', async () => {
      const inner = http2.createServer();
      inner.on('stream', (stream) => {
        stream.respond({ ':status': 200 });
        stream.pipe(stream);
      });
      const { port } = await http2Service((stream) => {
        stream.respond({ ':status': 200 });
        inner.emit('connection', stream);
      });
      const outer = sessionOver(() => open(port));
      const tunnel = outer.request({ ':method': 'CONNECT', ':authority': 'inner' });
      await once(tunnel, 'response');
      const stream = sessionOver(() => tunnel).request({ ':method': 'POST' });
      // node:http2 in itself can stop for ever after 64 KiB in both directions, over other streams too.
      const body = Buffer.alloc(20_000, 'nested');
      stream.end(body);
      expect(Buffer.concat(await stream.toArray()).equals(body)).toBe(true);
    });
  });

  describe('node:tls', () => {
    async function securePair(): Promise<{ client: TLSSocket; peer: TLSSocket; socket: Socket }> {
      const { server, port } = await serve();
      const accepted = once(server, 'connection');
      const socket = open(port);
      const client = connectTls({ socket, ca: TEST_CERT, servername: 'localhost' });
      const [raw] = await accepted;
      const peer = new TLSSocket(raw, { isServer: true, key: TEST_KEY, cert: TEST_CERT });
      for (const each of [client, peer]) each.on('error', () => {});
      onTestFinished(() => void peer.destroy());
      await once(client, 'secureConnect');
      return { client, peer, socket };
    }

    test('what is written before end() arrives, and both sockets close', async () => {
      const { client, peer, socket } = await securePair();
      const body = Buffer.alloc(1_000_000, 'secure');
      const closed = once(socket, 'close');
      client.resume().end(body);
      expect(Buffer.concat(await peer.toArray()).equals(body)).toBe(true);
      await closed;
    });

    test('destroy() of the secure socket destroys its socket, and the peer ends', async () => {
      const { client, peer, socket } = await securePair();
      const closed = Promise.all([once(socket, 'close'), once(peer, 'close')]);
      peer.resume();
      client.write('x');
      client.destroy();
      await closed;
      expect([socket.destroyed, peer.destroyed]).toEqual([true, true]);
    });

    test('a socket that is reset destroys the secure socket', async () => {
      const { client, peer, socket } = await securePair();
      const closed = closeOf(peer);
      client.resume();
      peer.resume();
      socket.resetAndDestroy();
      await closed;
      expect(peer.destroyed).toBe(true);
    });
  });
});
