// Types of prom-client.js, which is bundled.
export { Counter, Gauge, Registry } from 'prom-client';
