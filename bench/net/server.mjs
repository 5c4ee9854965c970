// The other process of bench/net.mjs: starts servers as its messages say, and reports what they have cost.
import { createServer as createHttp } from 'node:http';
import { createServer as createHttp2 } from 'node:http2';
import * as tcp from 'node:net';
import { TLSSocket } from 'node:tls';
import * as fabric from 'libfabric/net';
import { TransferEngine } from 'libfabric/transfer';
import { engineOptions } from './engine.mjs';

/** The servers, by their kind. Each gets the library, its options, and what it returns listens. */
const KINDS = {
  /** Sends back what it gets. */
  echo: ({ createServer }, options) =>
    createServer(options, (socket) => {
      socket.on('error', () => {});
      socket.on('data', (bytes) => socket.write(bytes));
    }),
  /** Answers with one byte after each `window` bytes. */
  sink: ({ createServer }, { window, ...options }) =>
    createServer(options, (socket) => {
      socket.on('error', () => {});
      sinkOf(socket, window);
    }),
  /** The same, over TLS within the socket. */
  tls: ({ createServer }, { window, key, cert, ...options }) =>
    createServer(options, (socket) => {
      const secure = new TLSSocket(socket, { isServer: true, key, cert });
      secure.on('error', () => {});
      sinkOf(secure, window);
    }),
  /** Answers after each `window` messages. */
  messages: ({ createServer }, { window, ...options }) =>
    createServer(options).on('messages', async (socket) => {
      let count = 0;
      for await (const _message of socket.messages({ borrow: true })) {
        if (++count % window === 0) await socket.send('k');
      }
    }),
  /** Receives memory. */
  memory: async ({ createServer }, { size, ...options }) => {
    const engine = await TransferEngine.open(engineOptions(options));
    const into = await engine.allocate(size);
    return createServer({ ...options, engine }).on('messages', async (socket) => {
      while ((await socket.receiveInto(into)) !== undefined);
    });
  },
  /** Answers GET. */
  http: ({ createServer }, { size, ...options }) => {
    const body = Buffer.alloc(size, 'b');
    const server = createHttp((_request, response) => response.end(body));
    server.emit('listening');
    return createServer({ ...options, allowHalfOpen: true }, (socket) =>
      server.emit('connection', socket),
    );
  },
  http2: ({ createServer }, { size, ...options }) => {
    const body = Buffer.alloc(size, 'b');
    const server = createHttp2();
    server.on('stream', (stream) => {
      stream.respond({ ':status': 200 });
      stream.end(body);
    });
    return createServer({ ...options, allowHalfOpen: true }, (socket) =>
      server.emit('connection', socket),
    );
  },
};

function sinkOf(socket, window) {
  let left = window;
  socket.on('data', (bytes) => {
    left -= bytes.length;
    if (left > 0) return;
    left += window;
    socket.write('k');
  });
}

let pulled;

const asks = {
  async listen({ kind, library, options }) {
    const server = await KINDS[kind](library === 'node:net' ? tcp : fabric, options);
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { port: server.address().port };
  },
  async offer({ options, size, address }) {
    const engine = await TransferEngine.open(options);
    const memory = await engine.allocate(size);
    const to = await engine.peer(address);
    const { token } = await memory.offer({ access: 'write', to, repeat: true });
    return { address: engine.address, token };
  },
  async pull({ window }) {
    const { Pull } = await import('zeromq');
    const pull = new Pull();
    await pull.bind('tcp://127.0.0.1:*');
    const receive = async () => {
      for (let count = 1; ; count++) {
        await pull.receive();
        if (count % window === 0) pulled();
      }
    };
    receive();
    return pull.lastEndpoint;
  },
  pulled: () =>
    new Promise((resolve) => {
      pulled = resolve;
    }),
  cpu: () => process.cpuUsage(),
  rss() {
    globalThis.gc();
    return process.memoryUsage().rss;
  },
};

process.on('message', async ({ id, ask, ...question }) => {
  process.send({ id, answer: await asks[ask](question) });
});
process.on('disconnect', () => process.exit());
