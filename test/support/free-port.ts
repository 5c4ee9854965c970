// free-port.mjs can also be imported by programs that run without vitest.
export { freePort } from './free-port.mjs';
