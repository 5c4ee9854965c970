// prom-client, as far as `libfabric stats --listen` answers with it.
export { Counter, Gauge, Registry } from 'prom-client';
