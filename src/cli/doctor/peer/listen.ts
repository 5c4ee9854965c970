import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { PeerConnection, ReachError } from './connection.js';
import { ProbeEndpoint } from './endpoint.js';
import { decode, encode, type Message } from './messages.js';

const CLIENTS = 8; // answered at once, each with an endpoint
const CONNECTIONS = 64; // further connections are refused
const LONGEST = 300; // the longest timeout that a client may request, in seconds
const HANDSHAKE_TIMEOUT = 10_000; // milliseconds for a client to complete the handshake
const GRACE = 2000; // additional milliseconds for a client's message
const STRAGGLER = 500; // milliseconds to wait for a message that its sender reported as failed

/** Answers doctors with --peer until the signal aborts. `domains` are those of efa. */
export async function listen(
  host: string | undefined,
  port: number,
  domains: readonly string[],
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  const connections = new Set<PeerConnection>();
  const clients = new Map<PeerConnection, Promise<void>>();
  const server = createServer((socket) => {
    const connection = new PeerConnection(socket);
    connections.add(connection);
    connection.over.addEventListener('abort', () => connections.delete(connection));
    if (clients.size >= CLIENTS) {
      connection.refuse(`${CLIENTS} others are being answered`);
      return;
    }
    const who = `${socket.remoteAddress?.replace(/^::ffff:/, '')}`;
    // A client counts until its endpoint is closed, which may be later than its connection.
    const served = serve(connection, domains, (line) => say(`${who}: ${line}`))
      .then(
        () => connection.close(),
        (error: Error) => {
          say(`${who}: ${error.message}`);
          connection.refuse(error.message);
        },
      )
      .finally(() => clients.delete(connection));
    clients.set(connection, served);
  });
  server.maxConnections = CONNECTIONS;
  server.listen(port, host);
  await once(server, 'listening');
  const { address, port: bound } = server.address() as AddressInfo;
  say(`Listening at ${address}, port ${bound}, with ${domains.join(', ')}. On the other host:`);
  say(`npx libfabric doctor --peer THIS-HOST --port ${bound}`);
  if (!signal.aborted) await once(signal, 'abort');
  const closed = once(server, 'close');
  server.close();
  for (const connection of connections) connection.close();
  await Promise.all([closed, ...clients.values()]);
}

async function serve(
  connection: PeerConnection,
  domains: readonly string[],
  say: (line: string) => void,
): Promise<void> {
  await connection.handshake(domains, HANDSHAKE_TIMEOUT);
  for (;;) {
    let asked: Extract<Message, { kind: 'try' }>;
    try {
      asked = await connection.receive('try', LONGEST * 1000);
    } catch (error) {
      if (error instanceof ReachError) return; // the client has finished
      throw error;
    }
    const nic = Number.isSafeInteger(asked.nic) && asked.nic >= 0 ? asked.nic : 0;
    await answer(connection, domains[nic % domains.length] as string, asked, say);
  }
}

async function answer(
  connection: PeerConnection,
  domain: string,
  { address, seconds }: Extract<Message, { kind: 'try' }>,
  say: (line: string) => void,
): Promise<void> {
  const timeout = Math.min(Math.max(Number(seconds) || 1, 1), LONGEST) * 1000;
  const endpoint = await ProbeEndpoint.open(domain);
  try {
    connection.send({ kind: 'ready', domain, address: encode(endpoint.address) });
    const { delivery } = await connection.receive('sent', timeout + GRACE);
    const expected = delivery?.kind === 'delivered' ? timeout : STRAGGLER;
    const arrived = await endpoint.arrived(expected, connection.over);
    const back = arrived ? await endpoint.send(decode(address), timeout, connection.over) : null;
    connection.send({ kind: 'received', arrived, answer: back });
    say(
      `${domain}: ${arrived ? `a message arrived; answer: ${back?.kind}` : 'no message arrived'}`,
    );
  } finally {
    await endpoint.close();
  }
}
