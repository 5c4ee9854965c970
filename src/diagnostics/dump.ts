import { threadId } from 'node:worker_threads';
import { describeErrno } from '../base/error-codes.js';
import { native } from '../contract/native.js';
import { type Engine, openEngines } from '../engine/engine.js';
import { libraryPath, version } from '../info/library.js';
import type { DomainState, LibraryState } from './dump-types.js';
import { netSessions } from './net-state.js';
import { transferEngines } from './transfer-state.js';

const MAX_OPERATIONS = 1000;
// An engine releases its lock after each turn, which takes microseconds.
const LOCK_TIMEOUT_MS = 1000;

/**
 * The open objects and operations in flight of this thread, to inspect a program that hangs: every
 * domain with its endpoints, queues, vectors, memory and operations, and every transfer engine with
 * its rails, peers, transfers and offers. Operations record nothing extra for this call. The call locks each engine
 * while it reads the engine's tables.
 *
 * If the provider does not return from a call, the state of that domain's engine is omitted after a
 * second.
 */
export function dumpState(): LibraryState {
  return {
    time: new Date().toISOString(),
    pid: process.pid,
    threadId,
    nodeVersion: process.version,
    libraryVersion: version().string,
    libraryPath: libraryPath(),
    domains: [...openEngines()].map(domainState),
    transferEngines: [...transferEngines].map((engine) => engine.state()),
    netSessions: [...netSessions].map((session) => session.state()),
    parked: native.parkedDomains().map(({ refused, ...parked }) => ({
      ...parked,
      refused: refused === 0 ? null : describeErrno(refused).code,
    })),
  };
}

function domainState(engine: Engine): DomainState {
  return {
    ...engine.names,
    driver: engine.driver,
    stats: engine.stats(),
    pending: engine.requests.pending,
    ...engine.backlog(),
    engine: native.domainState(engine.handle, MAX_OPERATIONS, LOCK_TIMEOUT_MS) ?? null,
  };
}
