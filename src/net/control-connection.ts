import type { EventEmitter } from 'node:events';
import { type BlockList, connect as connectTcp, isIP, type LookupFunction, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { CallContext, withoutContext } from '../base/async-context.js';
import { namesOf } from '../base/checks.js';
import { emitApart } from '../base/emit-apart.js';
import { TimeLimit } from '../base/time-limit.js';
import { connectionError } from './errors.js';

/** Where a control connection leads to, and how: as in node:net. node:net checks the values. */
export interface ControlOptions {
  /** Default: 'localhost'. */
  readonly host?: string | undefined;
  readonly port?: number | string | undefined;
  /** A Unix socket, instead of a host and a port. */
  readonly path?: string | undefined;
  readonly lookup?: LookupFunction | undefined;
  readonly family?: number | 'IPv4' | 'IPv6' | undefined;
  readonly hints?: number | undefined;
  readonly localAddress?: string | undefined;
  /** Sockets with a local port share no session. */
  readonly localPort?: number | undefined;
  readonly autoSelectFamily?: boolean | undefined;
  readonly autoSelectFamilyAttemptTimeout?: number | undefined;
  readonly keepAlive?: boolean | undefined;
  readonly keepAliveInitialDelay?: number | undefined;
  /** Refuses the addresses that are in it. */
  readonly blockList?: BlockList | undefined;
}

export const CONTROL_NAMES = namesOf<ControlOptions>({
  host: 1,
  port: 1,
  path: 1,
  lookup: 1,
  family: 1,
  hints: 1,
  localAddress: 1,
  localPort: 1,
  autoSelectFamily: 1,
  autoSelectFamilyAttemptTimeout: 1,
  keepAlive: 1,
  keepAliveInitialDelay: 1,
  blockList: 1,
});

/** Who asks for a connection. */
export interface Asker extends EventEmitter {
  autoSelectFamilyAttemptedAddresses?: string[] | undefined;
}

/** Events of a connection before it is connected, which the socket that asks for it emits too. */
const EVENTS = [
  'lookup',
  'connectionAttempt',
  'connectionAttemptFailed',
  'connectionAttemptTimeout',
];

/**
 * Begins to connect.
 *
 * @param asker gets the events, in the async context of the caller.
 * @param isShared whether later sockets use the connection too.
 * @throws TypeError, RangeError as node:net does.
 */
export function openControl(
  options: ControlOptions & { readonly tls?: ConnectionOptions | undefined },
  asker: Asker,
  isShared: boolean,
): Socket {
  const { tls } = options;
  const place = Object.fromEntries(
    CONTROL_NAMES.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );
  const open = () => (tls ? connectTls({ ...place, ...tls }) : connectTcp(place as never));
  const control = isShared ? withoutContext(open) : open();
  control.on('error', () => {}); // whoever waits for it has a listener of its own
  passEvents(control, asker);
  return control;
}

/**
 * Lets a socket that uses the connection of earlier ones emit what its own connection would have: programs measure the phases
 * of a connection by its events.
 */
export function tellLookup(asker: EventEmitter, options: ControlOptions, control: Duplex): void {
  const host = options.host || 'localhost';
  if (options.path !== undefined || isIP(host) > 0 || !(control instanceof Socket)) return;
  const { remoteAddress, remoteFamily } = control;
  emitApart(asker, 'lookup', null, remoteAddress, remoteFamily === 'IPv6' ? 6 : 4, host);
}

/** Lets the asker emit the events of a connection until it is connected. The connection may outlive the asker. */
function passEvents(control: Socket, asker: Asker): void {
  const context = new CallContext();
  for (const event of EVENTS) {
    const pass = (...args: unknown[]) => {
      asker.autoSelectFamilyAttemptedAddresses = control.autoSelectFamilyAttemptedAddresses;
      context.run(() => emitApart(asker, event, ...args));
    };
    control.on(event, pass);
    control.once('connect', () => control.off(event, pass));
  }
}

/** Waits until a connection is connected. */
export function connected(
  control: Socket,
  options: ControlOptions & { readonly tls?: ConnectionOptions | undefined },
  timeout: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const limit = new TimeLimit(timeout, () => {
      const detail = `no connection within ${timeout} ms`;
      control.destroy(connectionError('ETIMEDOUT', detail, 'connect'));
    }).unref(); // the connection itself keeps the event loop alive
    const onError = (error: Error) => {
      limit.clear();
      reject(error);
    };
    control.once('error', onError);
    control.once(options.tls ? 'secureConnect' : 'connect', () => {
      limit.clear();
      if (isBlocked(control, options.blockList)) {
        control.destroy(connectionError('ERR_IP_BLOCKED', `${control.remoteAddress} is blocked`));
        return;
      }
      control.off('error', onError);
      resolve();
    });
  });
}

/** Whether the address of the peer is in a list. Node.js looks at lists itself since 22.13. */
export function isBlocked(
  { remoteAddress, remoteFamily }: Socket,
  list: BlockList | undefined,
): boolean {
  if (list === undefined || remoteAddress === undefined) return false;
  return list.check(remoteAddress, remoteFamily === 'IPv6' ? 'ipv6' : 'ipv4');
}

const identities = new WeakMap<object, number>();
let lastIdentity = 0;

/** Tells options apart: those with the same key lead to the same place in the same way. */
export function keyOf(options: ControlOptions): string {
  const { port, host } = options;
  const values = {
    ...options,
    host: host || 'localhost',
    port: isText(port) ? Number(port) : port,
  };
  return CONTROL_NAMES.map((name) => identityOf(values[name])).join('\n');
}

const isText = (value: unknown) => typeof value === 'string';

/** A text that only the same value has. Two objects are never the same value. */
export function identityOf(value: unknown): string {
  if (Object(value) !== value) return `${typeof value} ${String(value)}`;
  const object = value as object;
  let identity = identities.get(object);
  if (identity === undefined) {
    lastIdentity += 1;
    identity = lastIdentity;
    identities.set(object, identity);
  }
  return `object ${identity}`;
}
