import { threadId } from 'node:worker_threads';
import type { DomainState, LibraryState } from './dump-types.js';
import { type Engine, openEngines } from './engine/engine.js';
import { describeErrno } from './error-codes.js';
import { libraryPath, version } from './library.js';
import { native } from './native.js';

const MAX_OPERATIONS = 1000;
// An engine lets go after its turn, which takes microseconds.
const PATIENCE_MS = 1000;

/**
 * What this thread has open and in flight, for a look at something that hangs: every domain with its
 * endpoints, queues, vectors, memory and operations. Nothing is noted for it while operations run: it
 * looks through the engines' tables, each of which stands still meanwhile.
 *
 * The engine of a domain whose provider does not return from a call is left out after a second.
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
    engine: native.domainState(engine.handle, MAX_OPERATIONS, PATIENCE_MS) ?? null,
  };
}
