/**
 * The parts that only the efa provider has: its status numbers, its environment variables, and the results of
 * `domain.efa()`: fi_efa(7).
 *
 * @module libfabric/efa
 */
export type { EfaStatus } from '../base/efa-statuses.js';
export type * from '../contract/efa-types.js';
export type { EfaQueries } from './queries.js';
export { efaStatus } from './status.js';
export { type EfaVariables, efaVariables, setEfaVariables } from './variables.js';
