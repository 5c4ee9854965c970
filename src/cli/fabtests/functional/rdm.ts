import type { FunctionalTest } from './shared/functional-test.js';
import { exchangeGreeting } from './shared/greeting.js';
import { DELIVERY_COMPLETE } from './shared/options.js';

/** fabtests' rdm: the client sends a greeting to the server. */
export const rdm: FunctionalTest = {
  command: 'rdm',
  type: 'FI_EP_RDM',
  summary: 'a message arrives',
  description: 'The client sends a greeting, and the server verifies every byte.',
  options: [DELIVERY_COMPLETE],
  run: exchangeGreeting,
};
