// Measures untagged messages.
import { runMessages, untagged } from './messages.mjs';

await runMessages('send', untagged);
