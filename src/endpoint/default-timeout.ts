import type { EndpointBase } from './endpoint.js';
import type { CheckedOptions } from './target.js';

type EndpointClass = typeof EndpointBase;

const timed = new Map<EndpointClass, EndpointClass>();

/**
 * The class of endpoints with a timeout for all operations. Others do not pay for it: their class has
 * no such check.
 */
export function withTimeout(Class: EndpointClass): EndpointClass {
  let Timed = timed.get(Class);
  if (Timed === undefined) {
    Timed = class extends Class {
      override finish(request: number, options: CheckedOptions | undefined): Promise<unknown> {
        const { engine, timeout } = this.limits;
        const promise = engine.requests.promise(request);
        const wait = { signal: options?.signal, timeout: options?.timeout ?? timeout };
        engine.limit(request, promise, wait);
        return promise;
      }
    };
    Object.defineProperty(Timed, 'name', { value: Class.name });
    timed.set(Class, Timed);
  }
  return Timed;
}
