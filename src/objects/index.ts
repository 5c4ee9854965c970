/**
 * An object store whose bytes travel over the fabric, and over HTTP for clients of S3.
 *
 * @module
 */
import './inspect.js';

export type { ChecksumAlgorithm } from './checksums.js';
export {
  type GetOptions,
  type ObjectBody,
  ObjectClient,
  type ObjectClientOptions,
  type ObjectConditions,
  type ObjectContent,
  type PutOptions,
  type ReadOptions,
} from './client.js';
export { ObjectError, type ObjectErrorCode } from './errors.js';
export type { ObjectInfo } from './get.js';
export type { ListOptions, ObjectEntry } from './list.js';
export type { PutResult } from './put.js';
export { createObjectServer, ObjectServer, type ObjectServerOptions } from './server.js';
export type { Authorize, RequestInfo } from './service.js';
