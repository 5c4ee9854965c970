// Calls the hooks of helpers.
import { afterAll, afterEach, beforeEach } from 'vitest';
import { callHooks } from './every-test.js';

beforeEach(() => callHooks('before'));
afterEach(() => callHooks('after'));
afterAll(() => callHooks('afterFile'));
