/** Figures in the text format of Prometheus. */
export interface Metrics {
  /** The content type. */
  readonly type: string;
  readonly text: string;
}

/** Adds a value to a metric. Those whose names end with `_total` are counters. */
export type Put = (
  name: string,
  help: string,
  labels: Readonly<Record<string, string>>,
  value: number,
) => void;

/** The metrics that `fill` puts. */
export async function metricsOf(fill: (put: Put) => void): Promise<Metrics> {
  // Imported here, because few programs need it.
  const { Counter, Gauge, Registry } = await import('../vendor/prom-client.js');
  const registry = new Registry();
  const metrics = new Map<string, InstanceType<typeof Counter | typeof Gauge>>();
  fill((name, help, labels, value) => {
    const Kind = name.endsWith('_total') ? Counter : Gauge;
    const labelNames = Object.keys(labels);
    const metric =
      metrics.get(name) ??
      new Kind({ name: `libfabric_${name}`, help, labelNames, registers: [registry] });
    metrics.set(name, metric);
    metric.inc(labels, value);
  });
  return { type: registry.contentType, text: await registry.metrics() };
}
