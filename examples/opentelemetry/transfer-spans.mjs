// @ts-check
// Makes an OpenTelemetry span of each transfer, as a child of the span that is active at the call.
//
//   npm install @opentelemetry/api
//
//   import { traceTransfers } from './transfer-spans.mjs';
//   traceTransfers(); // once, after the SDK has started
import { tracingChannel } from 'node:diagnostics_channel';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';

/** @typedef {import('libfabric/transfer').TransferTraceMessage} Message */

/** Makes spans of the transfers that begin from now on, until the returned function is called. */
export function traceTransfers(tracer = trace.getTracer('libfabric')) {
  /** @type {WeakMap<Message, import('@opentelemetry/api').Span>} */
  const spans = new WeakMap();

  /** @type {import('node:diagnostics_channel').TracingChannelSubscribers<Message>} */
  const subscribers = {
    start(message) {
      const { access, peer, bytes } = message;
      const attributes = {
        'libfabric.access': access,
        'libfabric.peer': peer,
        'libfabric.bytes': bytes,
      };
      const options = { kind: SpanKind.CLIENT, attributes };
      spans.set(message, tracer.startSpan(`libfabric ${access}`, options));
    },
    end() {},
    error(message) {
      const span = spans.get(message);
      const { error } = message;
      span?.recordException(error instanceof Error ? error : String(error));
      span?.setStatus({ code: SpanStatusCode.ERROR, message: String(error) });
    },
    asyncStart() {},
    asyncEnd(message) {
      spans.get(message)?.end();
    },
  };

  /** @type {import('node:diagnostics_channel').TracingChannel<unknown, Message>} */
  const channel = tracingChannel('libfabric:transfer');
  channel.subscribe(subscribers);
  return () => channel.unsubscribe(subscribers);
}
