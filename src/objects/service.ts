// Finds what a request asks for, and turns errors into answers.
import { unlessAborted } from '../base/abort-signals.js';
import { Deferred } from '../base/deferred.js';
import { Arriving } from './arriving.js';
import { bucketRequest, listBuckets } from './bucket-requests.js';
import { ObjectError } from './errors.js';
import { type Target, targetOf } from './keys.js';
import { deleteObject, getObject, putObject, type Store } from './object-requests.js';
import { ERROR, WELCOME, type Welcome } from './protocol.js';
import type { ObjectRequest, ObjectResponse } from './request.js';
import { ServerWarnings } from './server-warnings.js';
import { answerableError } from './system-errors.js';
import { uploadRequest } from './upload-requests.js';
import { Uploads } from './uploads.js';
import { documentOf } from './xml.js';

// Parameters that make another request of one. Without this list a GET of the permissions would get the object.
const OTHERS = [
  ...['accelerate', 'acl', 'analytics', 'attributes', 'cors', 'delete', 'encryption', 'inventory'],
  ...['legal-hold', 'lifecycle', 'logging', 'metrics', 'notification', 'object-lock', 'restore'],
  ...['ownershipControls', 'policy', 'policyStatus', 'publicAccessBlock', 'renameObject'],
  ...['replication', 'requestPayment', 'retention', 'select', 'session', 'tagging', 'torrent'],
  ...['uploadId', 'uploads', 'versionId', 'versioning', 'versions', 'website', 'append'],
  ...['partNumber', 'response-cache-control', 'response-content-disposition', 'response-expires'],
  ...['response-content-encoding', 'response-content-language', 'response-content-type'],
];

const CLOSE = { connection: 'close' };

/** The most bytes of channels' messages, and of lists of parts, that have not arrived whole. */
const ARRIVING = 64 * 1024 * 1024;

/** What authorize() gets. */
export interface RequestInfo {
  readonly method: string;
  /** Empty: the server itself. */
  readonly bucket: string;
  /** Empty: the bucket itself. */
  readonly key: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** Decides whether a request is allowed. */
export type Authorize = (request: RequestInfo) => boolean | Promise<boolean>;

/** authorize() has thrown. Any stranger can let it, so the warning is short. */
class UndecidedError extends ObjectError {
  constructor(cause: unknown) {
    super('InternalError', { cause });
  }
}

export class ObjectService {
  /** What has not arrived whole, over all connections. */
  readonly arriving = new Arriving(ARRIVING);
  readonly #store: Store;
  readonly #uploads: Uploads;
  readonly #authorize: Authorize | undefined;
  readonly #warnings = new ServerWarnings();
  readonly #ending = new AbortController();
  #running = 0;
  #sweeping: Promise<void> | undefined;
  #idle: Deferred<void> | undefined;

  constructor(store: Omit<Store, 'arriving'>, authorize: Authorize | undefined) {
    this.#store = { ...store, arriving: this.arriving };
    this.#uploads = new Uploads(store.folder);
    this.#authorize = authorize;
  }

  /** Whether its engine was closed, which its clients do not use any more. */
  get hasLostFabric(): boolean {
    return this.#store.fabric?.closed === true;
  }

  /** The answer to a request. Never rejects. */
  handle(request: ObjectRequest): Promise<ObjectResponse> {
    return this.#counted(this.#handle(request));
  }

  #counted<T>(work: Promise<T>): Promise<T> {
    this.#running += 1;
    return work.finally(() => {
      this.#running -= 1;
      if (this.#running === 0) this.#idle?.resolve();
    });
  }

  /** Removes what clients and killed servers have left behind. @param keepUploads milliseconds after the last part. */
  sweep(keepUploads: number): Promise<void> {
    if (!this.#sweeping) {
      const ended = () => {
        this.#sweeping = undefined;
      };
      const { own } = this.#store.folder;
      const removing = own
        .removeStale()
        .then(() => this.#uploads.removeExpired(Date.now() - keepUploads))
        .catch((error) => this.#warnings.failed(error));
      this.#sweeping = this.#counted(removing).finally(ended);
    }
    return this.#sweeping;
  }

  /** Refuses the requests for which the program has not decided yet. What it answers later is dropped. */
  end(): void {
    this.#ending.abort(new ObjectError('SlowDown', { detail: 'the server ends' }));
    this.#store.fabric?.end();
  }

  /** Resolves when no request runs. */
  async drain(): Promise<void> {
    if (this.#running === 0) return;
    this.#idle ??= new Deferred();
    await this.#idle.promise;
  }

  async #handle(request: ObjectRequest): Promise<ObjectResponse> {
    let key = '';
    try {
      if (request.url === WELCOME && request.method === 'GET') return await this.#welcome(request);
      const target = targetOf(request.url);
      key = target.key;
      await this.#check(request, target);
      return await this.#answer(request, target);
    } catch (error) {
      return this.refusal(request, error, key);
    }
  }

  async #check({ method, fields }: ObjectRequest, { bucket, key }: Target): Promise<void> {
    const authorize = this.#authorize;
    if (authorize === undefined) return;
    const decide = async () => {
      try {
        return await authorize({ method, bucket, key, headers: fields });
      } catch (error) {
        throw new UndecidedError(error);
      }
    };
    const isAllowed = await unlessAborted(this.#ending.signal, decide());
    if (isAllowed !== true) throw new ObjectError('AccessDenied');
  }

  async #welcome(request: ObjectRequest): Promise<ObjectResponse> {
    await this.#check(request, { bucket: '', key: '', query: new URLSearchParams() });
    const { fabric } = this.#store;
    const welcome: Welcome =
      fabric && (await fabric.reaches(request))
        ? { address: fabric.address, piece: fabric.piece }
        : {};
    return {
      status: 200,
      // The next requests come over a channel.
      fields: { 'content-type': 'application/json', ...('address' in welcome && CLOSE) },
      body: JSON.stringify(welcome),
    };
  }

  async #answer(request: ObjectRequest, target: Target): Promise<ObjectResponse> {
    const { bucket, key, query } = target;
    if (bucket === '') {
      if (request.method === 'GET') return listBuckets(target, this.#store);
      throw new ObjectError('MethodNotAllowed');
    }
    if (query.size > 0) {
      const uploading = key
        ? uploadRequest(request, target, this.#store, this.#uploads)
        : undefined;
      if (uploading) return uploading;
      const other = OTHERS.find((name) => query.has(name));
      if (other) throw new ObjectError('NotImplemented', { detail: `'?${other}'` });
    }
    if (key === '') return bucketRequest(request, target, this.#store, this.#uploads);
    switch (request.method) {
      case 'GET':
      case 'HEAD':
        return getObject(request, target, this.#store);
      case 'PUT':
        return putObject(request, target, this.#store);
      case 'DELETE':
        return deleteObject(request, target, this.#store);
      default:
        throw new ObjectError('MethodNotAllowed');
    }
  }

  /** The answer to a request that has failed. */
  refusal(request: ObjectRequest, error: unknown, key = ''): ObjectResponse {
    const { code, status, text, fields, cause, ownHint } = answerableError(error);
    if (code === 'InternalError' && !request.signal.aborted) {
      if (error instanceof UndecidedError) this.#warnings.undecided(cause);
      else this.#warnings.failed(cause ?? error);
    }
    const answer = { ...fields, [ERROR]: code };
    if (request.method === 'HEAD') return { status, fields: answer };
    const elements = { Code: code, Message: text, Key: key || undefined, Hint: ownHint };
    const body = documentOf('Error', elements, '');
    return { status, fields: { ...answer, 'content-type': 'application/xml' }, body };
  }
}
