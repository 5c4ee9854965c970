import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { MOST_CONNECTIONS, Strangers } from '../../shared/strangers.js';
import { PeerConnection, ReachError } from './connection.js';
import { ProbeEndpoint } from './endpoint.js';
import { decode, encode, type Message } from './messages.js';

const CLIENTS = 8; // answered at once, each with an endpoint
const IDLE = 256; // connections that are not being answered; more end the oldest
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
  const connections = new Map<PeerConnection, Promise<void>>();
  const desk: Desk = {
    domains,
    idle: new Strangers({ most: IDLE, lifetime: HANDSHAKE_TIMEOUT }),
    answering: 0,
  };
  const server = createServer((socket) => {
    const connection = new PeerConnection(socket);
    const who = `${socket.remoteAddress?.replace(/^::ffff:/, '')}`;
    // It counts until its endpoint is closed, which may be later than its connection.
    const served = serve(connection, socket, desk, (line) => say(`${who}: ${line}`))
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

/** What the connections of a listener share. */
interface Desk {
  readonly domains: readonly string[];
  /** Those that are not being answered. */
  readonly idle: Strangers;
  /** The number of those that are. */
  answering: number;
}

async function serve(
  connection: PeerConnection,
  socket: Socket,
  desk: Desk,
  say: (line: string) => void,
): Promise<void> {
  const { domains, idle } = desk;
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
    if (desk.answering === CLIENTS) throw new Error(`${CLIENTS} others are being answered`);
    const nic = Number.isSafeInteger(asked.nic) && asked.nic >= 0 ? asked.nic : 0;
    desk.answering++;
    try {
      await answer(connection, domains[nic % domains.length] as string, asked, say);
    } finally {
      desk.answering--;
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
