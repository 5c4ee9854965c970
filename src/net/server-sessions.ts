import type { Duplex } from 'node:stream';
import { inThisContext } from '../base/async-context.js';
import { checkInteger, checkMilliseconds, namesOf } from '../base/checks.js';
import { type Admit, type Origin, sourceOf } from '../base/origin.js';
import { checkAdmit } from '../transfer/peer-options.js';
import { AGREEMENT_TIMEOUT, meet } from './connect.js';
import { connectionError } from './errors.js';
import { type FabricOptions, Ports } from './ports.js';
import { Session, warnOf } from './session.js';
import type { SocketSession } from './stream.js';

/** Limits of the sessions of a server. */
export interface SessionLimits {
  /**
   * Decides about clients whose endpoints are on another host than the one that their connection comes from, and about each
   * one of efa. If omitted, packets of the first travel over the connection, and the second are admitted.
   */
  readonly admit?: Admit;
  /** The most sessions at the same time, one for each process of clients. Further ones are refused. Default: 1024. */
  readonly maxSessions?: number;
  /** Milliseconds for the agreement. Default: 30,000, because the event loop of a client may be busy. */
  readonly agreementTimeout?: number;
}

export const LIMIT_NAMES = namesOf<SessionLimits>({
  maxSessions: 1,
  agreementTimeout: 1,
  admit: 1,
});

/** Checks the values of the limits. */
export function checkLimits({ maxSessions, agreementTimeout, admit }: SessionLimits): void {
  checkAdmit(admit);
  if (maxSessions !== undefined) checkInteger('options.maxSessions', maxSessions, 1);
  if (agreementTimeout !== undefined)
    checkMilliseconds('options.agreementTimeout', agreementTimeout, 1);
}

const MAX_SESSIONS = 1024;
const MAX_AGREEMENTS = 256; // at the same time
const GRACE = 1000; // ms for what was written to leave

/** Takes a socket that a client opens. */
export type Opened = (session: SocketSession, stream: number, mode: number) => void;

/** The sessions of a server, and the agreements about further ones. */
export class ServerSessions {
  readonly #options: FabricOptions & SessionLimits;
  readonly #opened: Opened;
  readonly #ended: () => void;
  readonly #sessions = new Set<SocketSession>();
  readonly #agreeing = new Set<Duplex>();
  #ports: Promise<Ports> | undefined;

  /** @param ended is called when a session has ended. */
  constructor(
    options: FabricOptions & SessionLimits,
    opened: Opened,
    ended: () => void = () => {},
  ) {
    this.#options = options;
    this.#opened = opened;
    this.#ended = ended;
  }

  /** Opens the endpoints before the first client needs them. closePorts() releases them. */
  openPorts(failed: (error: Error) => void): void {
    if (this.#options.provider === undefined || this.#ports) return;
    const opening = Ports.take(this.#options);
    this.#ports = opening;
    opening.catch((error) => {
      if (this.#options.require === 'fabric') failed(error);
      else warnOf(error);
    });
  }

  closePorts(): void {
    this.#ports?.then(
      (ports) => ports.release(),
      () => {}, // there are none
    );
    this.#ports = undefined;
  }

  /** The connections that sessions and agreements have. */
  get size(): number {
    return this.#sessions.size + this.#agreeing.size;
  }

  /** Whether there is no room for another session. */
  get isFull(): boolean {
    return this.#sessions.size >= (this.#options.maxSessions ?? MAX_SESSIONS);
  }

  /** Whether another agreement ends the oldest one. */
  get isBusy(): boolean {
    return this.#agreeing.size >= MAX_AGREEMENTS;
  }

  /** Agrees on a session over a connection. Clients that send nothing must not keep others out: the oldest one gives way. */
  async agree(
    control: Duplex,
    isClosing: () => boolean,
    source = sourceOf(control),
  ): Promise<void> {
    control.on('error', () => {}); // a client that goes away is no error of the server
    if (this.isBusy) this.#dropOldest();
    this.#agreeing.add(control);
    try {
      const timeout = this.#options.agreementTimeout ?? AGREEMENT_TIMEOUT;
      const { admit } = this.#options;
      const session = await meet(control, this.#options, timeout, {
        role: 'server',
        source,
        admit,
      });
      if (this.isFull) {
        session.fail(connectionError('EMFILE', 'too many sessions'));
        return;
      }
      session.stranger = { connection: control as Origin, source, admit };
      session.opened = inThisContext((stream, mode) => this.#opened(session, stream, mode));
      if (session instanceof Session) this.#keep(session);
      session.start();
      if (isClosing()) session.close();
    } catch {
      control.destroy();
    } finally {
      this.#agreeing.delete(control);
    }
  }

  #dropOldest(): void {
    const [oldest] = this.#agreeing;
    if (oldest) this.#agreeing.delete(oldest);
    oldest?.destroy();
  }

  // A PlainSession is a socket, and counts as one.
  #keep(session: Session): void {
    this.#sessions.add(session);
    session.onEnd = () => {
      this.#sessions.delete(session);
      this.#ended();
    };
  }

  /** Ends each session when nobody uses its sockets. */
  close(): void {
    for (const session of this.#sessions) session.close();
  }

  /** Ends all, and the agreements. What was written has a second to leave. */
  destroy(): void {
    for (const control of this.#agreeing) control.destroy();
    const sessions = [...this.#sessions];
    for (const session of sessions) session.close();
    if (sessions.length === 0) return;
    setTimeout(() => {
      for (const session of sessions) session.control.destroy();
    }, GRACE).unref();
  }
}
