// Import before libfabric is used. The queues then have the providers' default sizes.
import { SMALL_QUEUES } from './small-queues.js';

for (const name of Object.keys(SMALL_QUEUES)) delete process.env[name];
