// examples/opentelemetry makes a span of each transfer.
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect, onTestFinished, test } from 'vitest';
import '../support/softefa.js';
import { traceTransfers } from '../../examples/opentelemetry/transfer-spans.mjs';
import { enginePair } from '../support/engines.js';

const SIZE = 1 << 20;

/** A tracer with its finished spans, and spans of transfers, until the test ends. */
function tracing() {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer('test');
  const stop = traceTransfers(tracer);
  onTestFinished(async () => {
    stop();
    await provider.shutdown();
    context.disable();
  });
  return { tracer, finished: () => exporter.getFinishedSpans() };
}

test.each(['shm', 'tcp', 'efa'])(
  'each transfer is one span, a child of the span that was active at its call, %s',
  async (provider) => {
    const { a, b, toA, toB } = await enginePair({ provider, nics: 1, maxTransfers: 1 });
    const from = await a.allocate(SIZE);
    const into = await b.allocate(SIZE);
    const { token } = await into.offer({ access: 'write', to: toA, repeat: true });
    const { token: readable } = await into.offer({ access: 'read', to: toA });
    const { tracer, finished } = tracing();
    const reason = new Error('enough');

    const spanOf = (name: string, call: () => PromiseLike<unknown>) =>
      tracer.startActiveSpan(name, async (span) => {
        await call();
        expect(trace.getActiveSpan()).toBe(span);
        span.end();
        return span.spanContext();
      });
    const [writing, reading, aborting] = await Promise.all([
      spanOf('writing', () => toB.write(from, token)),
      spanOf('reading', () => toB.read(readable, from.slice(0, 100))),
      spanOf('aborting', async () => {
        const control = new AbortController();
        const aborted = toB.write(from, token, { signal: control.signal });
        control.abort(reason);
        await expect(aborted).rejects.toBe(reason);
      }),
    ]);

    const spans = finished().filter(({ name }) => name.startsWith('libfabric'));
    const byParent = Object.fromEntries(
      spans.map((span) => [span.parentSpanContext?.spanId, span] as const),
    );
    expect(spans).toHaveLength(3); // a span that ends is exported once
    const peer = { 'libfabric.peer': b.id };
    const ok = { kind: SpanKind.CLIENT, ended: true, status: { code: SpanStatusCode.UNSET } };
    expect(byParent[writing.spanId]).toMatchObject({
      ...ok,
      name: 'libfabric write',
      attributes: { ...peer, 'libfabric.access': 'write', 'libfabric.bytes': SIZE },
      events: [],
    });
    expect(byParent[reading.spanId]).toMatchObject({
      ...ok,
      name: 'libfabric read',
      attributes: { ...peer, 'libfabric.access': 'read', 'libfabric.bytes': 100 },
      events: [],
    });
    expect(byParent[aborting.spanId]).toMatchObject({
      name: 'libfabric write',
      ended: true,
      status: { code: SpanStatusCode.ERROR, message: 'Error: enough' },
      events: [{ name: 'exception', attributes: { 'exception.message': 'enough' } }],
    });
    const traceIds = spans.map((span) => span.spanContext().traceId).sort();
    expect(traceIds).toEqual([writing, reading, aborting].map(({ traceId }) => traceId).sort());
  },
);
