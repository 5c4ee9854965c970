// The out-of-band TCP connection: -b and -E.
import type { Socket } from 'node:net';
import { MAX_MILLISECONDS } from '../../../base/checks.js';
import { type Candidate, Candidates, type CandidatesOptions } from '../../shared/candidates.js';
import { ConnectError, connectTo } from '../../shared/connect.js';
import { isQuiet } from '../../shared/quiet.js';
import { announcePort, type Listening } from './listening.js';
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

/** Most bytes that may wait to be read: more than any message. */
const MOST_UNREAD = 4 << 20;
/** The same for a process that may not be the peer. */
const MOST_UNREAD_OF_CANDIDATES = 64 << 10;

/** A byte stream to the peer that is read in exact portions. */
export class OobSocket {
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];
  #available = 0;
  #wake: (() => void) | undefined;
  #failure: Error | undefined;
  #mostUnread: number;

  constructor(socket: Socket, mostUnread = MOST_UNREAD) {
    this.#socket = socket;
    this.#mostUnread = mostUnread;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#available += chunk.length;
      if (this.#available > this.#mostUnread) socket.pause();
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

  /** Accepts the first connection from any process. `listening` receives the port, which may be 0 for any. */
  static async accept(
    port: number,
    host: string,
    signal?: AbortSignal,
    listening?: (port: number) => void,
  ): Promise<OobSocket> {
    const candidates = await oobCandidates({ port, host, lifetime: MAX_MILLISECONDS, signal });
    listening?.(candidates.port);
    const anyone = async () => {};
    const [oob] = await candidates.client({ begins: anyone, meets: anyone });
    candidates.close();
    oob.recognize();
    return oob;
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
    if (this.#available <= this.#mostUnread) this.#socket.resume();
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

  /** The process is the peer: it may send more. */
  recognize(): void {
    this.#mostUnread = MOST_UNREAD;
    this.#socket.resume();
  }

  close(): void {
    this.#failure ??= new Error('the connection was closed');
    this.#socket.end();
    this.#socket.unref();
  }

  /** Ends the connection now. */
  destroy(reason: Error): void {
    this.#failure ??= reason;
    this.#socket.destroy();
  }
}

const oobCandidates = (options: CandidatesOptions) =>
  Candidates.listen((socket) => new OobSocket(socket, MOST_UNREAD_OF_CANDIDATES), options);

/** Connects to a server. Retries for `timeout` milliseconds while none listens. */
export async function connectToServer(
  port: number,
  host: string,
  timeout: number,
): Promise<Socket> {
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

/** Whether the settings ask for an out-of-band connection. */
export const usesOob = ({ oobExchange, oobSync }: Settings): boolean => oobExchange || oobSync;

/** The client's out-of-band connection. */
export async function connectOob({
  host = 'localhost',
  oobAddress,
  oobPort,
  timeout,
}: OobAddress): Promise<OobSocket> {
  return new OobSocket(await connectToServer(oobPort, oobAddress ?? host, timeout * 1000));
}

/** Listens for the client of a server, out of band. */
export function listenOob(
  settings: Settings,
  signal?: AbortSignal,
): Promise<Candidates<OobSocket>> {
  return listening(settings, signal, oobCandidates);
}

/** Milliseconds that a client may take to open its endpoint, after it has connected. */
const OPENING = 60_000;

/** Listens for the client of a server, and prints where. Throws PortInUse. */
export async function listening<V extends Candidate>(
  settings: OobAddress & Listening,
  signal: AbortSignal | undefined,
  listen: (options: CandidatesOptions) => Promise<Candidates<V>>,
): Promise<Candidates<V>> {
  const { oobPort, oobAddress, sourceAddress, timeout } = settings;
  const lifetime = Math.min(Math.max(timeout * 1000, OPENING), MAX_MILLISECONDS);
  const where = { port: oobPort, host: oobAddress ?? sourceAddress, lifetime };
  try {
    const candidates = await listen({ ...where, signal, dismissed: dismissedWriter() });
    announcePort(settings, candidates.port);
    return candidates;
  } catch (error) {
    const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    throw taken ? new PortInUse(oobPort, error) : error;
  }
}

const MOST_WRITTEN = 8;

/** Reports that a candidate is not the client. Only the first reports are printed. */
function dismissedWriter() {
  let written = 0;
  return (address: string, { message }: Error) => {
    if (isQuiet() || written === MOST_WRITTEN) return;
    const more = ++written === MOST_WRITTEN ? ' (further ones are not reported)' : '';
    process.stderr.write(`${address} is not the client, which may still come: ${message}${more}\n`);
  };
}
