import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import {
  MOST_CONNECTIONS,
  UnidentifiedConnections,
} from '../../shared/unidentified-connections.js';
import { PeerConnection, ReachError } from './connection.js';
import { ProbeEndpoint } from './endpoint.js';
import { decode, encode, type Message } from './messages.js';

const CLIENTS = 8; // the most clients that are answered at a time, each with an endpoint
const IDLE = 256; // the most connections that are not being answered; beyond that, the oldest is closed
const LONGEST = 300; // the longest timeout that a client may request, in seconds
const HANDSHAKE_TIMEOUT = 10_000; // milliseconds for a client to complete the handshake
const MARGIN = 2000; // milliseconds that are added to the timeout of a client's message
const FAILED_SEND_TIMEOUT = 500; // milliseconds to wait for a message that its sender reported as failed

/** Answers doctors with --peer until the signal aborts. `domains` are those of efa. */
export async function listen(
  host: string | undefined,
  port: number,
  domains: readonly string[],
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  const connections = new Map<PeerConnection, Promise<void>>();
  const listener: Listener = {
    domains,
    idle: new UnidentifiedConnections({ most: IDLE, lifetime: HANDSHAKE_TIMEOUT }),
    answering: 0,
  };
  const server = createServer((socket) => {
    const connection = new PeerConnection(socket);
    const who = `${socket.remoteAddress?.replace(/^::ffff:/, '')}`;
    // A connection counts until its endpoint is closed, which may be later than the connection.
    const served = serve(connection, socket, listener, (line) => say(`${who}: ${line}`))
      .then(
        () => connection.close(),
        (error: Error) => {
          if (socket.bytesRead > 0) say(`${who}: ${error.message}`);
          connection.refuse(error.message);
        },
      )
      .finally(() => connections.delete(connection));
    connections.set(connection, served);
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.listen(port, host);
  await once(server, 'listening');
  const { address, port: bound } = server.address() as AddressInfo;
  say(`Listening at ${address}, port ${bound}, with ${domains.join(', ')}. On the other host:`);
  say(`npx libfabric doctor --peer THIS-HOST --port ${bound}`);
  if (!signal.aborted) await once(signal, 'abort');
  const closed = once(server, 'close');
  server.close();
  for (const connection of connections.keys()) connection.close();
  await Promise.all([closed, ...connections.values()]);
}

/** The state that the connections of a listener share. */
interface Listener {
  readonly domains: readonly string[];
  /** The connections that are not being answered. */
  readonly idle: UnidentifiedConnections;
  /** The number of connections that are being answered. */
  answering: number;
}

async function serve(
  connection: PeerConnection,
  socket: Socket,
  listener: Listener,
  say: (line: string) => void,
): Promise<void> {
  const { domains, idle } = listener;
  idle.add(socket);
  await connection.handshake(domains, HANDSHAKE_TIMEOUT);
  for (;;) {
    idle.add(socket, LONGEST * 1000);
    let asked: Extract<Message, { kind: 'try' }>;
    try {
      asked = await connection.receive('try', LONGEST * 1000);
    } catch (error) {
      if (error instanceof ReachError) return; // the client has finished
      throw error;
    }
    idle.recognize(socket);
    if (listener.answering === CLIENTS) throw new Error(`${CLIENTS} others are being answered`);
    const nic = Number.isSafeInteger(asked.nic) && asked.nic >= 0 ? asked.nic : 0;
    listener.answering++;
    try {
      await answer(connection, domains[nic % domains.length] as string, asked, say);
    } finally {
      listener.answering--;
    }
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
    const { delivery } = await connection.receive('sent', timeout + MARGIN);
    const expected = delivery?.kind === 'delivered' ? timeout : FAILED_SEND_TIMEOUT;
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
