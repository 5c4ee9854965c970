import type { FunctionalTest } from './shared/functional-test.js';
import { exchangeGreeting } from './shared/greeting.js';

/** fabtests' dgram: the client sends a greeting to the server as a datagram. */
export const dgram: FunctionalTest = {
  command: 'dgram',
  type: 'FI_EP_DGRAM',
  summary: 'a datagram arrives',
  description: 'The client sends a greeting as a datagram, and the server verifies every byte.',
  hostOnly: () => 'datagrams cannot use memory of a device; use rdm',
  run: exchangeGreeting,
};
