/**
 * Arranges transfers over HTTP: engines meet, and exchange tokens, in the headers of requests and responses.
 *
 * @module
 */
import './inspect.js';

export type { Admit, NamedAddress, Origin } from '../base/origin.js';
export type { ClientsOptions } from './clients.js';
export type { AnyHeaders, WebHeaders, WithToken } from './headers.js';
export { ADDRESS as ADDRESS_HEADER, TOKEN as TOKEN_HEADER } from './headers.js';
export type {
  Fetch,
  TransferClient,
  TransferRequest,
  TransferResponse,
} from './transfer-client.js';
export { transferClient } from './transfer-client.js';
export type {
  AnyRequest,
  AnyResponse,
  RequestSource,
  TransferClientOfRequest,
  TransferServer,
  TransferServerOptions,
} from './transfer-server.js';
export { transferServer } from './transfer-server.js';
