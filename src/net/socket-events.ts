// The arguments of each event, for the listeners of programs in TypeScript.
import type { Readable } from 'node:stream';
import type { FabricSocket } from './fabric-socket.js';
import type { MessageSocket } from './message-socket.js';
import type { Address } from './peer-info.js';

interface FabricEvents {
  /** Packets travel over TCP, with the reason. */
  fallback: [reason: Error];
  /** Packets travel over the other NICs. */
  nicLost: [error: Error];
}

/** The events of a {@link FabricSocket}: those of a net.Socket, and two of its own. */
export interface SocketEvents extends FabricEvents {
  close: [hadError: boolean];
  connect: [];
  connectionAttempt: [address: string, port: number, family: number];
  connectionAttemptFailed: [address: string, port: number, family: number, error: Error];
  connectionAttemptTimeout: [address: string, port: number, family: number];
  data: [bytes: Buffer];
  drain: [];
  end: [];
  error: [error: Error];
  finish: [];
  lookup: [error: Error | null, address: string, family: number | string, host: string];
  pause: [];
  pipe: [source: Readable];
  readable: [];
  ready: [];
  resume: [];
  timeout: [];
  unpipe: [source: Readable];
}

/** The events of a {@link MessageSocket}. */
export interface MessageEvents extends FabricEvents {
  close: [error?: Error];
  connect: [];
  error: [error: Error];
}

/** The events of a FabricServer: those of a net.Server, and `messages`. */
export interface ServerEvents {
  close: [];
  connection: [socket: FabricSocket];
  drop: [peer?: Address];
  error: [error: Error];
  listening: [];
  messages: [socket: MessageSocket];
  tlsClientError: [error: Error, socket: unknown];
}

declare module './fabric-socket.js' {
  interface FabricSocket {
    /** Calls the listener with each event. */
    on<E extends keyof SocketEvents>(event: E, listener: (...args: SocketEvents[E]) => void): this;
    /** Calls the listener with each event. */
    on(event: string | symbol, listener: (...args: never[]) => void): this;
    /** Calls the listener with the next event. */
    once<E extends keyof SocketEvents>(
      event: E,
      listener: (...args: SocketEvents[E]) => void,
    ): this;
    /** Calls the listener with the next event. */
    once(event: string | symbol, listener: (...args: never[]) => void): this;
    /** The same as on(). */
    addListener<E extends keyof SocketEvents>(
      event: E,
      listener: (...args: SocketEvents[E]) => void,
    ): this;
    /** The same as on(). */
    addListener(event: string | symbol, listener: (...args: never[]) => void): this;
    /** As on(), before the other listeners. */
    prependListener<E extends keyof SocketEvents>(
      event: E,
      listener: (...args: SocketEvents[E]) => void,
    ): this;
    /** As on(), before the other listeners. */
    prependListener(event: string | symbol, listener: (...args: never[]) => void): this;
    /** As once(), before the other listeners. */
    prependOnceListener<E extends keyof SocketEvents>(
      event: E,
      listener: (...args: SocketEvents[E]) => void,
    ): this;
    /** As once(), before the other listeners. */
    prependOnceListener(event: string | symbol, listener: (...args: never[]) => void): this;
  }
}

declare module './message-socket.js' {
  interface MessageSocket {
    /** Calls the listener with each event. */
    on<E extends keyof MessageEvents>(
      event: E,
      listener: (...args: MessageEvents[E]) => void,
    ): this;
    /** Calls the listener with each event. */
    on(event: string | symbol, listener: (...args: never[]) => void): this;
    /** Calls the listener with the next event. */
    once<E extends keyof MessageEvents>(
      event: E,
      listener: (...args: MessageEvents[E]) => void,
    ): this;
    /** Calls the listener with the next event. */
    once(event: string | symbol, listener: (...args: never[]) => void): this;
    /** The same as on(). */
    addListener<E extends keyof MessageEvents>(
      event: E,
      listener: (...args: MessageEvents[E]) => void,
    ): this;
    /** The same as on(). */
    addListener(event: string | symbol, listener: (...args: never[]) => void): this;
    /** As on(), before the other listeners. */
    prependListener<E extends keyof MessageEvents>(
      event: E,
      listener: (...args: MessageEvents[E]) => void,
    ): this;
    /** As on(), before the other listeners. */
    prependListener(event: string | symbol, listener: (...args: never[]) => void): this;
    /** As once(), before the other listeners. */
    prependOnceListener<E extends keyof MessageEvents>(
      event: E,
      listener: (...args: MessageEvents[E]) => void,
    ): this;
    /** As once(), before the other listeners. */
    prependOnceListener(event: string | symbol, listener: (...args: never[]) => void): this;
  }
}

declare module './server.js' {
  interface FabricServer {
    /** Calls the listener with each event. */
    on<E extends keyof ServerEvents>(event: E, listener: (...args: ServerEvents[E]) => void): this;
    /** Calls the listener with each event. */
    on(event: string | symbol, listener: (...args: never[]) => void): this;
    /** Calls the listener with the next event. */
    once<E extends keyof ServerEvents>(
      event: E,
      listener: (...args: ServerEvents[E]) => void,
    ): this;
    /** Calls the listener with the next event. */
    once(event: string | symbol, listener: (...args: never[]) => void): this;
    /** The same as on(). */
    addListener<E extends keyof ServerEvents>(
      event: E,
      listener: (...args: ServerEvents[E]) => void,
    ): this;
    /** The same as on(). */
    addListener(event: string | symbol, listener: (...args: never[]) => void): this;
    /** As on(), before the other listeners. */
    prependListener<E extends keyof ServerEvents>(
      event: E,
      listener: (...args: ServerEvents[E]) => void,
    ): this;
    /** As on(), before the other listeners. */
    prependListener(event: string | symbol, listener: (...args: never[]) => void): this;
    /** As once(), before the other listeners. */
    prependOnceListener<E extends keyof ServerEvents>(
      event: E,
      listener: (...args: ServerEvents[E]) => void,
    ): this;
    /** As once(), before the other listeners. */
    prependOnceListener(event: string | symbol, listener: (...args: never[]) => void): this;
  }
}
