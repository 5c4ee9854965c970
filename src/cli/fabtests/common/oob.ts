// The out-of-band TCP connection: -b and -E.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { ConnectError, connectTo } from '../../shared/connect.js';
import { announcePort } from './listening.js';
import type { Settings } from './settings.js';

/** The peer is gone: its connection ended, or it did not answer in time. */
export class PeerGone extends Error {
  override readonly name = 'PeerGone';
}

/** Another process listens at the port. */
export class PortInUse extends Error {
  override readonly name = 'PortInUse';
  readonly port: number;

  constructor(port: number, cause: unknown) {
    super(`TCP port ${port} is in use on this host; give both sides another one: -E=PORT`, {
      cause,
    });
    this.port = port;
  }
}

/**
 * Most bytes that may wait to be read: more than any message, and a limit for foreign processes.
 */
const MOST_UNREAD = 4 << 20;

/** A byte stream to the peer that is read in exact portions. */
export class OobSocket {
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];
  #available = 0;
  #wake: (() => void) | undefined;
  #failure: Error | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#available += chunk.length;
      if (this.#available > MOST_UNREAD) socket.pause();
      this.#wake?.();
    });
    const ended = (error?: Error) => {
      this.#failure ??= error ?? new PeerGone('the peer has closed the connection');
      this.#wake?.();
    };
    socket.on('error', ended);
    socket.on('end', ended);
    socket.on('close', () => ended());
    socket.resume();
  }

  /** Waits for one client: acceptClient(). */
  static async accept(...where: Parameters<typeof acceptClient>): Promise<OobSocket> {
    return new OobSocket(await acceptClient(...where));
  }

  /** Connects to a server: connectToServer(). */
  static async connect(...where: Parameters<typeof connectToServer>): Promise<OobSocket> {
    return new OobSocket(await connectToServer(...where));
  }

  /** Why no more bytes arrive; undefined while the connection is open. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** The local address that the peer sees. */
  get localAddress(): string | undefined {
    return this.#socket.localAddress?.replace(/^::ffff:/, '');
  }

  send(bytes: Uint8Array): void {
    if (this.#failure) throw this.#failure;
    this.#socket.write(bytes);
  }

  /** Reads exactly `length` bytes. */
  async receive(length: number): Promise<Buffer> {
    await this.filled(length);
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks.length = 0;
    if (bytes.length > length) this.#chunks.push(bytes.subarray(length));
    this.#available -= length;
    if (this.#available <= MOST_UNREAD) this.#socket.resume();
    return bytes.subarray(0, length);
  }

  /** Returns the next bytes without consuming them. */
  async peek(length: number): Promise<Buffer> {
    await this.filled(length);
    return Buffer.concat(this.#chunks).subarray(0, length);
  }

  /** Resolves when `length` bytes can be read. */
  async filled(length: number): Promise<void> {
    while (this.#available < length) {
      if (this.#failure) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  close(): void {
    this.#failure ??= new Error('the connection was closed');
    this.#socket.end();
    this.#socket.unref();
  }
}

/**
 * Waits for one client and returns its connection, paused. Then the port is free again.
 *
 * @param port 0 for any free port; `listening` receives the port.
 * @throws PortInUse
 */
async function acceptClient(
  port: number,
  host: string | undefined,
  signal?: AbortSignal,
  listening?: (port: number) => void,
): Promise<Socket> {
  const server = createServer({ pauseOnConnect: true });
  server.listen({ port, ...(host !== undefined && { host }) });
  try {
    await once(server, 'listening', { ...(signal && { signal }) });
    listening?.((server.address() as AddressInfo).port);
    const [socket] = (await once(server, 'connection', { ...(signal && { signal }) })) as [Socket];
    return socket;
  } catch (error) {
    const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    throw taken ? new PortInUse(port, error) : error;
  } finally {
    server.close();
  }
}

/** Connects to a server. Retries for `timeout` milliseconds while none listens. */
async function connectToServer(port: number, host: string, timeout: number): Promise<Socket> {
  try {
    return await connectTo(host, port, { timeout, retries: (code) => code === 'ECONNREFUSED' });
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    const why = error.code ?? 'no answer';
    throw new PeerGone(
      `no server at ${host}, port ${port} (${why}); check that it runs, with the same options`,
    );
  }
}

/** Where the sides of a test connect out of band, and how long the client waits for its server. */
export type OobAddress = Pick<
  Settings,
  'host' | 'oobAddress' | 'sourceAddress' | 'oobPort' | 'timeout'
>;

/** The out-of-band connection, if the settings ask for it. */
export async function openOob(
  settings: Settings,
  signal?: AbortSignal,
): Promise<OobSocket | undefined> {
  if (!settings.oobExchange && !settings.oobSync) return undefined;
  const listening = (port: number) => announcePort(settings, port);
  return new OobSocket(await connectSides(settings, signal, listening));
}

/** Opens the out-of-band connection: the server waits for its client, the client for its server. */
export async function connectSides(
  { host, oobAddress, sourceAddress, oobPort, timeout }: OobAddress,
  signal?: AbortSignal,
  listening?: (port: number) => void,
): Promise<Socket> {
  if (host === undefined) {
    return acceptClient(oobPort, oobAddress ?? sourceAddress, signal, listening);
  }
  return connectToServer(oobPort, oobAddress ?? host, timeout * 1000);
}
