/**
 * An object store whose bytes travel over the fabric, and over HTTP for clients of S3.
 *
 * @module
 */
import './inspect.js';

export type { Admit, NamedAddress, Origin } from '../base/origin.js';
export type { ClientsOptions } from '../http/clients.js';
export type { ChecksumAlgorithm } from './checksums.js';
export { ObjectClient } from './client.js';
export type {
  GetOptions,
  ObjectBody,
  ObjectClientOptions,
  ObjectConditions,
  ObjectContent,
  PutOptions,
  ReadOptions,
} from './client-options.js';
export { ObjectError, type ObjectErrorCode } from './errors.js';
export type { ObjectInfo } from './get-requests.js';
export type { ListOptions, ObjectEntry } from './list.js';
export type { PutResult } from './put.js';
export { createObjectServer, ObjectServer, type ObjectServerOptions } from './server.js';
export type { Authorize, RequestInfo } from './service.js';
